#include "train/lab/user_files.h"

#include <fmt/format.h>

#include "core/version.h"
#include "train/loop/schedule_plan.h"

namespace aplomb::train::lab {
namespace {

std::string number(double value) { return fmt::format("{}", value); }
std::string number(std::int64_t value) { return fmt::format("{}", value); }
std::string truth(bool value) { return value ? "true" : "false"; }

std::int64_t accumulation_of(const loop::TrainOptions& options) {
  return options.length.batch_size / options.length.per_device_train_batch_size;
}

/// transformers.TrainingArguments, as the YAML file that HfArgumentParser reads.
UserSettings hf_settings(const loop::TrainOptions& options) {
  return {{"model_name_or_path", "model"},
          {"train_file", options.data.data_path},
          {"validation_file", options.data.eval_data_path},
          {"output_dir", options.output.output_dir},
          {"per_device_train_batch_size", number(options.length.per_device_train_batch_size)},
          {"per_device_eval_batch_size", number(options.length.per_device_eval_batch_size)},
          {"gradient_accumulation_steps", number(accumulation_of(options))},
          {"learning_rate", number(options.optim.learning_rate)},
          {"lr_scheduler_type", options.optim.lr_scheduler_type},
          {"warmup_steps", number(loop::warmup_steps(options.optim, options.length.max_steps))},
          {"optim", options.optim.optim == "adamw" ? "adamw_torch" : options.optim.optim},
          {"adam_beta1", number(options.optim.adam_beta1)},
          {"adam_beta2", number(options.optim.adam_beta2)},
          {"adam_epsilon", number(options.optim.adam_epsilon)},
          {"weight_decay", number(options.optim.weight_decay)},
          {"max_grad_norm", number(options.optim.max_grad_norm)},
          {"max_steps", number(options.length.max_steps)},
          {"fp16", truth(options.precision.fp16)},
          {"bf16", truth(options.precision.bf16)},
          {"gradient_checkpointing", truth(options.precision.use_gradient_checkpointing)},
          {"attn_implementation", options.precision.attn_implementation},
          {"logging_steps", "2"},
          {"eval_strategy", "steps"},
          {"eval_steps", number(options.output.eval_step)},
          {"save_steps", number(options.output.save_step)},
          {"seed", number(static_cast<std::int64_t>(options.length.seed))}};
}

/// A loop of the user's own (script.h reads these keys).
UserSettings plain_settings(const LabRun& lab) {
  const loop::TrainOptions& options = lab.options;
  UserSettings all = {
      {"model", "model"},
      {"tokenizer", "model"},
      {"train_file", options.data.data_path},
      {"eval_file", options.data.eval_data_path},
      {"micro_batch_size", number(options.length.per_device_train_batch_size)},
      {"accumulation", number(accumulation_of(options))},
      {"lr", number(options.optim.learning_rate)},
      {"lr_scheduler_type", options.optim.lr_scheduler_type},
      {"warmup_steps", number(loop::warmup_steps(options.optim, options.length.max_steps))},
      {"beta1", number(options.optim.adam_beta1)},
      {"beta2", number(options.optim.adam_beta2)},
      {"adam_eps", number(options.optim.adam_epsilon)},
      {"weight_decay", number(options.optim.weight_decay)},
      {"max_grad_norm", number(options.optim.max_grad_norm)},
      {"max_steps", number(options.length.max_steps)},
      {"precision", options.precision.fp16   ? "fp16"
                    : options.precision.bf16 ? "bf16"
                                             : "fp32"},
      {"log_every", "1"},
      {"eval_every", number(options.output.eval_step)},
      {"seed", number(static_cast<std::int64_t>(options.length.seed))}};
  all.insert(all.end(), lab.own_settings.begin(), lab.own_settings.end());
  return all;
}

}  // namespace

UserFiles files_of(const LabRun& lab, const Request& request) {
  const loop::TrainOptions& options = lab.options;
  UserFiles user;
  user.checkpoints = request.folder + "/work";
  switch (request.style) {
    case Style::own:
      user.greeting = {fmt::format("aplomb train {}: full on cpu, products in {}", core::version(),
                                   options.precision.fp16   ? "fp16"
                                   : options.precision.bf16 ? "bf16"
                                                            : "fp32"),
                       fmt::format("run: {} samples, {} held out; {} steps of {} samples; peak "
                                   "learning rate {:g}, {} steps of warm-up, then {}",
                                   lab.language.samples * lab.language.copies,
                                   lab.language.held_out, options.length.max_steps,
                                   options.length.batch_size, options.optim.learning_rate,
                                   loop::warmup_steps(options.optim, options.length.max_steps),
                                   options.optim.lr_scheduler_type)};
      user.files = {{"train.yaml", loop::options_yaml(options)}};
      break;
    case Style::hf:
      user.greeting = {
          "***** Running training *****",
          fmt::format("  Num examples = {}", lab.language.samples * lab.language.copies),
          fmt::format("  Total optimization steps = {}", options.length.max_steps)};
      user.files = {{"train_args.yaml", yaml_of(hf_settings(options))}};
      break;
    case Style::plain:
      user.files = {{"config.yaml", yaml_of(plain_settings(lab))}, {"train.py", lab.script.text()}};
      break;
  }
  return user;
}

}  // namespace aplomb::train::lab
