#include "train/lab/lab_run.h"

#include <nlohmann/json.hpp>

namespace aplomb::train::lab {
namespace {

model::ModelConfig small_llama() {
  const nlohmann::ordered_json json = {{"architectures", {"LlamaForCausalLM"}},
                                       {"model_type", "llama"},
                                       {"vocab_size", k_vocabulary},
                                       {"hidden_size", 64},
                                       {"intermediate_size", 176},
                                       {"num_hidden_layers", 2},
                                       {"num_attention_heads", 4},
                                       {"num_key_value_heads", 4},
                                       {"max_position_embeddings", 256},
                                       {"initializer_range", 0.02},
                                       {"rms_norm_eps", 1e-6},
                                       {"rope_theta", 10000.0},
                                       {"tie_word_embeddings", false},
                                       {"bos_token_id", 256},
                                       {"eos_token_id", 257},
                                       {"pad_token_id", 258},
                                       {"hidden_act", "silu"}};
  return *model::parse_model_config(json.dump(2), "config.json");
}

}  // namespace

LabRun::LabRun(std::uint64_t of) : seed(of), model(small_llama()) {
  how.attention = model::Attention::sdpa;
  language.seed = of;
  options.model.init_random = "model/config.json";
  options.model.tokenizer = "model";
  options.data.data_path = "data/train.jsonl";
  options.data.eval_data_path = "data/eval.jsonl";
  options.data.cutoff_len = 128;
  options.adapter.adapter_name = "full";
  // What Kaplan et al. (arXiv 2001.08361, equation D.1) give for 133 k parameters: 0.003239 -
  // 0.0001395 ln N = 1.6e-3.
  options.optim.learning_rate = 1.6e-3;
  options.optim.adam_beta2 = 0.99;
  options.optim.warmup_steps = 10;
  options.length.batch_size = 8;
  options.length.per_device_train_batch_size = 8;
  options.length.per_device_eval_batch_size = 24;
  options.length.max_steps = 120;
  options.length.seed = of;
  options.precision.fp32 = true;
  options.precision.attn_implementation = "sdpa";
  options.precision.threads = 1;
  options.output.output_dir = "out";
  options.output.save_step = 60;
  options.output.eval_step = 20;
  options.guard.guard_snapshot_steps = 10;
}

Runner trained(std::function<void(LabRun&)> change) {
  return trained([](LabRun&) {}, std::move(change));
}

Runner trained(std::function<void(LabRun&)> base, std::function<void(LabRun&)> change) {
  return [base = std::move(base), change = std::move(change)](const Request& request) {
    LabRun lab(request.seed);
    base(lab);
    if (request.faulty) change(lab);
    return run_lab(lab, request);
  };
}

std::vector<at::Tensor> parameters_like(model::LanguageModel& model, std::string_view part) {
  std::vector<at::Tensor> found;
  for (const auto& each : model.named_parameters()) {
    if (each.key().find(part) != std::string::npos) found.push_back(each.value());
  }
  return found;
}

}  // namespace aplomb::train::lab
