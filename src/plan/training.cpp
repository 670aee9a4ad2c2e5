#include "plan/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "knowledge/document.h"

namespace aplomb::plan {
namespace {

using knowledge::Node;

/// A rank without a method is LoRA's (torchtune names the method in a component only).
std::string method_of(const Known& known) {
  return known.word("peft.method", known.has("peft.rank") ? "lora" : "full");
}

bool trains_adapter(const Known& known) {
  const std::string method = method_of(known);
  return method != "full" && method != "freeze" && method != "galore" && method != "badam" &&
         method != "llamapro";
}

/// Bits of a base that is published quantised, as its name says; 0 where it says nothing.
double bits_named(const Known& known) {
  const std::string name = core::lower(known.word("model.name"));
  for (const char* each : {"gptq", "awq", "4bit", "int4"}) {
    if (name.find(each) != std::string::npos) return 4;
  }
  return 0;
}

/// Puts the defaults of a framework (and then of `any`) where nothing was stated.
class Defaults {
 public:
  Defaults(Known& known, std::vector<Assumption>& assumed) : known_(known), assumed_(assumed) {}

  void take(std::string_view framework) {
    for (const Node& entry : knowledge::list_of(knowledge::file("plan.yaml"), "defaults")) {
      if (knowledge::text_of(entry, "framework") != framework) continue;
      if (knowledge::truth_of(entry, "adapter") && !trains_adapter(known_)) continue;
      for (const auto& [name, written] : entry["set"].members())
        put(std::string(name), written, framework);
    }
  }

 private:
  void put(std::string name, const Node& written, std::string_view framework) {
    if (known_.has(name)) return;
    core::Value value;
    if (const auto text = written.text(); text && text->starts_with("= ")) {
      const record::Setting* other = known_.find(text->substr(2));
      if (other == nullptr) return;
      value = other->value;
    } else if (written.is_scalar()) {
      value = knowledge::value_of(written);
    }
    if (is_told(name)) {
      assumed_.push_back(
          {name,
           fmt::format("{} = {}{}", name, core::show(value),
                       framework == "any" ? "" : fmt::format(" (default of {})", framework))});
    }
    known_.put(std::move(name), std::move(value), std::string(framework));
  }

  /// What every plan has need of is worth a line; what only some methods read is not.
  static bool is_told(std::string_view name) {
    return !name.starts_with("rl.") && !name.starts_with("peft.") && name != "batch.accumulation";
  }

  Known& known_;
  std::vector<Assumption>& assumed_;
};

int width_of(const std::string& format, int otherwise) {
  if (format == "fp32" || format == "tf32" || format == "fp64") return 4;
  if (format == "bf16" || format == "fp16") return 2;
  if (format == "fp8") return 2;  // products in 8 bits, tensors kept in 16
  return otherwise;
}

Optimizer optimizer_of(const std::string& word) {
  const auto has = [&word](const char* part) { return word.find(part) != std::string::npos; };
  const bool short_states = has("8bit") || has("8-bit") || has("bnb");
  if (has("lion")) return short_states ? Optimizer::lion_8bit : Optimizer::lion;
  if (has("adafactor")) return Optimizer::adafactor;
  if (has("muon")) return Optimizer::muon;
  if (has("sgd")) return has("momentum") ? Optimizer::sgd_momentum : Optimizer::sgd;
  return short_states ? Optimizer::adamw_8bit : Optimizer::adamw;
}

void read_method(Training& training, const Known& known) {
  const bool adapter = trains_adapter(known);
  training.method = adapter ? Method::lora : Method::full;
  const std::string method = method_of(known);
  if (adapter && (method == "dora" || known.truth("peft.dora"))) training.method = Method::dora;
  const double bits = known.number("quant.bits", bits_named(known));
  training.quantisation.on = adapter && (method == "qlora" || (bits > 0 && bits <= 8));
  training.quantisation.bits = bits > 0 ? bits : 4;
  training.quantisation.double_quant = known.truth("quant.double");
  training.adapter.rank = known.size("peft.rank", 8);
  training.adapter.dropout = known.number("peft.dropout", 0);
  training.adapter.targets = known.words("peft.targets");
  std::erase_if(training.adapter.targets, [](const std::string& each) {
    return each == "all-linear" || each == "all" || each == "linear";
  });
  training.adapter.saved_modules = known.words("peft.modules_to_save");
}

void read_precision(Training& training, const Known& known, std::vector<Assumption>& assumed) {
  const int compute = width_of(known.word("precision.compute"), 4);
  const bool stated = known.has("precision.params");
  training.precision.stored = width_of(known.word("precision.params"), 4);
  if (!stated) {
    assumed.push_back({"precision.params",
                       "precision.params = fp32: nothing says how the weights "
                       "are loaded"});
  }
  training.precision.autocast = compute == 2 ? 2 : 0;
  training.precision.master =
      training.precision.stored == 2 && known.word("precision.master") == "fp32";
  if (training.parallelism.deepspeed &&
      compute == 2) {  // deepspeed/runtime/bf16_optimizer.py, stage_1_and_2.py
    training.precision.stored = 2;
    training.adapter.width = 2;
    training.precision.master = true;
    training.precision.autocast = 0;
  }
}

void read_attention(Training& training, const Known& known) {
  training.kernels.attention_name = known.word("attn.impl", "sdpa");
  training.kernels.attention =
      training.kernels.attention_name == "eager" ? Attention::eager : Attention::fused;
}

void read_memory(Training& training, const Known& known) {
  training.checkpointing = known.truth("memory.gradient_checkpointing");
  training.offload.activations = known.truth("memory.activation_offload");
  training.kernels.fused_loss = known.truth("memory.fused_loss");
  training.kernels.fused_layers = known.truth("speed.liger");
  training.cpu = known.word("env.device") == "cpu";
  training.optimizer = optimizer_of(known.word("optim.name", "adamw"));
  if (training.optimizer == Optimizer::sgd && known.number("optim.momentum", 0) > 0)
    training.optimizer = Optimizer::sgd_momentum;
  training.batch.micro = known.size("batch.micro", 1);
  training.batch.accumulation = known.size("batch.accumulation", 1);
  training.batch.length = known.size("data.max_length", 2048);
}

double gpus_of(const Known& known) {
  double most = 1;
  for (const char* each : {"dist.world_size", "batch.world", "env.gpu_count"})
    most = std::max(most, known.size(each, 1));
  const double nodes = known.size("dist.nodes", 1);
  return std::max(most, nodes * known.size("dist.procs_per_node", 1));
}

bool is_on_host(const Known& known, const char* setting) {
  const std::string where = known.word(setting, "none");
  return where == "cpu" || where == "nvme";
}

void read_distribution(Training& training, const Known& known) {
  training.parallelism.gpus = gpus_of(known);
  training.parallelism.nodes =
      known.size("dist.nodes", std::max(1.0, training.parallelism.gpus / 8));
  training.parallelism.tensor = known.size("dist.tensor_parallel", 1);
  training.parallelism.context = known.size("dist.context_parallel", 1);
  training.parallelism.pipeline = known.size("dist.pipeline_parallel", 1);
  training.parallelism.sequence = known.truth("dist.sequence_parallel");
  training.parallelism.zero = static_cast<int>(known.number("dist.zero_stage", 0));
  const std::string strategy = known.word("dist.strategy");
  training.parallelism.deepspeed = strategy == "deepspeed" || known.has("dist.zero_stage");
  training.parallelism.fsdp = strategy.starts_with("fsdp") || known.has("dist.fsdp_sharding") ||
                              !known.word("dist.fsdp_options").empty();
  const std::string sharding = known.word("dist.fsdp_sharding", "full_shard");
  if (training.parallelism.fsdp)
    training.parallelism.zero = sharding == "no_shard" ? 0 : sharding == "shard_grad_op" ? 2 : 3;
  training.parallelism.ddp =
      !training.parallelism.deepspeed && !training.parallelism.fsdp && training.ranks() > 1;
  training.offload.optimizer = is_on_host(known, "dist.offload_optimizer");
  training.offload.weights = is_on_host(known, "dist.offload_params");
  training.parallelism.bucket_bytes = known.size("dist.bucket_bytes", 0);
}

void read_generation(Training& training, const Known& known) {
  const std::string method = known.word("train.method");
  training.rollouts.grpo = method == "grpo" || method == "rloo";
  // trl/trainer/dpo_trainer.py: the chosen and the rejected answer go through together, and the
  // reference is another model where no adapter can be put off.
  const bool pairs = method == "dpo" || method == "orpo" || method == "reward_model";
  training.batch.sequences = pairs ? 2 : 1;
  if (method == "dpo") training.reference = training.method == Method::full;
  if (!training.rollouts.grpo) return;
  training.rollouts.generations = known.size("rl.num_generations", 8);
  training.rollouts.completion = known.size("rl.max_completion_length", 256);
  const double prompt = known.size("rl.max_prompt_length", 512);
  training.batch.length = prompt + training.rollouts.completion;
  // trl/trainer/grpo_trainer.py: no reference model where beta is 0 or an adapter can be put off.
  training.reference = training.method == Method::full && known.number("rl.beta", 0) > 0;
  const std::string mode = known.word("rl.vllm_mode", "colocate");
  training.rollouts.engine =
      (known.truth("rl.use_vllm") || known.has("rl.engine")) && mode != "server";
  training.rollouts.engine_share =
      training.rollouts.engine ? known.number("rl.vllm_memory_frac", 0.3) : 0;
  training.rollouts.batch = known.size("rl.generation_batch", training.batch.micro);
}

}  // namespace

double Parallelism::ranks() const { return std::max(1.0, gpus / (tensor * context * pipeline)); }

Training training_of(const Known& stated, const ModelShape& shape, std::string_view framework,
                     std::vector<Assumption>& assumed) {
  Known known = stated;
  Defaults defaults(known, assumed);
  if (!framework.empty()) defaults.take(framework);
  defaults.take("any");
  Training training;
  read_method(training, known);
  read_distribution(training, known);
  read_precision(training, known, assumed);
  read_attention(training, known);
  read_memory(training, known);
  read_generation(training, known);
  if (shape.positions > 0) training.batch.length = std::min(training.batch.length, shape.positions);
  return training;
}

std::string_view name(Method method) {
  constexpr std::array<std::string_view, 3> k_names = {"full", "lora", "dora"};
  return k_names[static_cast<std::size_t>(method)];
}

std::string_view name(Optimizer optimizer) {
  constexpr std::array<std::string_view, 8> k_names = {
      "adamw", "adamw_8bit", "adafactor", "lion", "lion_8bit", "muon", "sgd", "sgd_momentum"};
  return k_names[static_cast<std::size_t>(optimizer)];
}

std::string describe(const Training& training) {
  if (training.method == Method::full) return "full fine-tuning";
  const std::string_view kind = training.method == Method::dora ? "DoRA" : "LoRA";
  return fmt::format("{}{} of rank {:.0f}", training.quantisation.on ? "Q" : "", kind,
                     training.adapter.rank);
}

}  // namespace aplomb::plan
