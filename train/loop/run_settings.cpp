#include "train/loop/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "train/loop/schedule_plan.h"

namespace aplomb::train::loop {
namespace {

class List {
 public:
  void put(const char* name, core::Value value) {
    record::Setting setting;
    setting.name = name;
    setting.value = std::move(value);
    setting.framework = "aplomb-train";
    settings_.push_back(std::move(setting));
  }
  void number(const char* name, double value) { put(name, value); }
  void count(const char* name, std::int64_t value) { put(name, static_cast<double>(value)); }
  std::vector<record::Setting> take() { return std::move(settings_); }

 private:
  std::vector<record::Setting> settings_;
};

void put_model(const model::ModelConfig& model, List& to) {
  to.put("model.type", model.model_type);
  to.count("model.params", model::parameter_count(model));
  to.count("model.layers", model.layers);
  to.count("model.hidden", model.hidden_size);
  to.count("model.ffn", model.intermediate_size);
  to.count("model.vocab_size", model.vocab_size);
  to.count("model.heads", model.attention.heads);
  to.count("model.kv_heads", model.attention.kv_heads);
  to.count("model.head_dim", model.attention.head_dim);
  to.count("model.max_positions", model.max_positions);
  to.put("model.tie_embeddings", model.tie_embeddings);
  to.put("model.attention_bias", model.attention.qkv_bias);
  to.put("attn.qk_norm", model.attention.qk_norm);
}

void put_method(const TrainOptions& options, List& to) {
  to.put("train.method", std::string("sft"));
  to.put("peft.method", options.adapter.adapter_name);
  if (options.adapter.adapter_name == "full") return;
  to.count("peft.rank", options.adapter.lora_r);
  to.number("peft.alpha", options.adapter.lora_alpha);
  to.number("peft.dropout", options.adapter.lora_dropout);
  to.put("peft.targets", fmt::format("{}", fmt::join(options.adapter.target_modules, ",")));
}

void put_optimizer(const TrainOptions& options, const RunSizes& sizes, List& to) {
  to.put("optim.name", options.optim.optim);
  to.number("optim.lr", options.peak_learning_rate());
  to.number("optim.weight_decay", options.optim.weight_decay);
  to.number("optim.beta1", options.optim.adam_beta1);
  to.number("optim.beta2", options.optim.adam_beta2);
  to.number("optim.eps", options.optim.adam_epsilon);
  to.number("optim.grad_clip", options.optim.max_grad_norm);
  to.put("schedule.name", options.optim.lr_scheduler_type);
  to.count("schedule.warmup_steps", warmup_steps(options.optim, sizes.total_steps));
  to.count("train.max_steps", sizes.total_steps);
  to.number("train.epochs", options.length.num_epochs);
}

}  // namespace

std::vector<record::Setting> canonical_settings(const TrainOptions& options,
                                                const model::ModelConfig& model,
                                                const RunSizes& sizes) {
  List to;
  put_model(model, to);
  put_method(options, to);
  put_optimizer(options, sizes, to);
  const std::int64_t micro =
      std::min(options.length.per_device_train_batch_size, options.length.batch_size);
  to.count("batch.micro", micro);
  to.count("batch.accumulation",
           std::max<std::int64_t>(options.length.batch_size / (micro * sizes.world), 1));
  to.count("batch.global", options.length.batch_size);
  to.count("dist.world_size", sizes.world);
  to.count("data.max_length", sizes.longest > 0 ? sizes.longest : options.data.cutoff_len);
  to.put("data.packing", options.data.packing);
  to.put("data.train_on_prompt", options.data.train_on_inputs);
  to.count("data.samples", static_cast<std::int64_t>(sizes.samples));
  to.put("data.shuffle", options.data.shuffle);
  to.put("eval.enabled", sizes.eval_samples > 0);
  if (options.output.eval_step > 0) to.count("eval.steps", options.output.eval_step);
  if (options.output.save_step > 0) to.count("save.steps", options.output.save_step);
  to.count("log.steps", options.output.logging_steps);
  to.put("precision.params", std::string("fp32"));
  to.put("precision.compute", sizes.compute);
  if (sizes.compute == "fp16") to.put("precision.loss_scaling", std::string("dynamic"));
  if (sizes.on_gpu) to.put("precision.tf32", sizes.tf32);
  if (!sizes.gpu.empty()) to.put("env.gpu", sizes.gpu);
  // The ladder begins on its safest rung.
  const std::string& attention = options.precision.attn_implementation;
  to.put("attn.impl", attention == "auto" ? "eager" : attention);
  to.put("attn.cudnn_sdpa", !options.precision.disable_cudnn_sdpa);
  to.put("memory.gradient_checkpointing", options.precision.use_gradient_checkpointing);
  to.put("compile.enabled", false);
  if (sizes.pad_id >= 0) to.count("tokenizer.pad_id", sizes.pad_id);
  if (sizes.eos_id >= 0) to.count("tokenizer.eos_id", sizes.eos_id);
  to.number("seed.value", static_cast<double>(options.length.seed));
  return to.take();
}

}  // namespace aplomb::train::loop
