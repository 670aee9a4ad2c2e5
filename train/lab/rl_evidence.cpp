#include "train/lab/rl_evidence.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/lab/evidence.h"

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Name {
  const char* printed;
  const char* series;
};
constexpr std::array k_names{
    Name{"learning_rate", "lr"},
    Name{"completions/mean_length", "completion_length"},
    Name{"completions/max_length", "completion_length_max"},
    Name{"completions/mean_terminated_length", "terminated_length"},
    Name{"completions/clipped_ratio", "completion_clipped_ratio"},
    Name{"clip_ratio/region_mean", "clip_ratio"},
    Name{"sampling/sampling_logp_difference/mean", "logp_difference"},
    Name{"sampling/sampling_logp_difference/max", "logp_difference_max"},
    Name{"sampling/importance_sampling_ratio/min", "is_ratio_min"},
    Name{"sampling/importance_sampling_ratio/mean", "is_ratio_mean"},
    Name{"sampling/importance_sampling_ratio/max", "is_ratio_max"},
    Name{"step_time", "step_time_s"},
};

std::string series_of(const std::string& printed) {
  for (const Name& each : k_names) {
    if (printed == each.printed) return each.series;
  }
  // rewards/<function>/mean
  if (printed.starts_with("rewards/") && printed.ends_with("/mean"))
    return "reward/" + printed.substr(8, printed.size() - 8 - 5);
  if (printed.starts_with("rewards/") && printed.ends_with("/std"))
    return "reward_std/" + printed.substr(8, printed.size() - 8 - 4);
  return printed;
}

/// As Python prints a float.
std::string python(const std::optional<double>& value) {
  if (!value) return "None";
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", *value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// The loss has four decimals in the log of transformers' Trainer, all else what it is.
double as_logged(const std::string& name, double value) {
  return name == "loss" ? std::round(value * 1e4) / 1e4 : value;
}

std::string dict_line(const GrpoRecord& record) {
  std::string line;
  for (const auto& [name, value] : record.values) {
    line += fmt::format("{}'{}': {}", line.empty() ? "{" : ", ", name,
                        python(value ? std::optional(as_logged(name, *value)) : value));
  }
  return line + "}\n";
}

double rate(double what, double seconds) { return what / std::max(seconds, 1e-9); }

std::string traceback(const GrpoRun& run) {
  if (run.error.empty()) return {};
  return "Traceback (most recent call last):\n  File \"grpo.py\", line 61, in <module>\n    "
         "trainer.train()\nRuntimeError: " +
         run.error + "\n";
}

std::string hf_log(const GrpoRun& run, const GrpoConfig& config) {
  const std::int64_t batch = config.prompts * config.num_generations;
  std::string text = fmt::format(
      "***** Running training *****\n"
      "  Num examples = {}\n"
      "  Instantaneous batch size per device = {}\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = {}\n"
      "  Gradient Accumulation steps = 1\n"
      "  Total optimization steps = {}\n"
      "  Number of trainable parameters = {}\n",
      run.problems, batch, batch, config.max_steps, run.parameters);
  std::size_t said = 0;
  double loss = 0;
  for (const GrpoRecord& record : run.records) {
    for (; said < run.warnings.size() && run.warnings[said].first < record.step; ++said)
      text += run.warnings[said].second + "\n";
    text += dict_line(record);
    loss += record.get("loss").value_or(0) / static_cast<double>(run.records.size());
  }
  if (!run.error.empty()) return text + traceback(run);
  return text + fmt::format(
                    "{{'train_runtime': {:.4f}, 'train_samples_per_second': {:.3f}, "
                    "'train_steps_per_second': {:.3f}, 'train_loss': {}}}\n",
                    run.seconds, rate(static_cast<double>(config.max_steps * batch), run.seconds),
                    rate(static_cast<double>(config.max_steps), run.seconds), loss);
}

Json json_of(const GrpoRecord& record) {
  Json object = Json::object();
  for (const auto& [name, value] : record.values)
    object[name] = value ? Json(as_logged(name, *value)) : Json(nullptr);
  object["step"] = record.step;
  return object;
}

std::string trainer_state(const GrpoRun& run, const GrpoConfig& config) {
  Json history = Json::array();
  for (const GrpoRecord& record : run.records) history.push_back(json_of(record));
  const Json state = {{"best_metric", nullptr},
                      {"best_model_checkpoint", nullptr},
                      {"epoch", run.records.empty() ? 0 : *run.records.back().get("epoch")},
                      {"global_step", config.max_steps},
                      {"is_local_process_zero", true},
                      {"is_world_process_zero", true},
                      {"log_history", history},
                      {"logging_steps", config.logging_steps},
                      {"max_steps", config.max_steps},
                      {"train_batch_size", config.prompts * config.num_generations}};
  return state.dump(2) + "\n";
}

std::string jsonl(const GrpoRun& run) {
  std::string text;
  for (const GrpoRecord& record : run.records) text += json_of(record).dump() + "\n";
  return text;
}

/// A loop of the user's own: what he looks at, in his own words.
std::string plain_log(const GrpoRun& run, const GrpoConfig& config) {
  std::string text =
      fmt::format("number of parameters: {}\n{} prompts\n", run.parameters, run.problems);
  std::size_t said = 0;
  for (const GrpoRecord& record : run.records) {
    for (; said < run.warnings.size() && run.warnings[said].first < record.step; ++said)
      text += "WARNING: " + run.warnings[said].second + "\n";
    text += fmt::format("step {}/{}", record.step, config.max_steps);
    for (const auto& [name, value] : record.values) {
      const bool shown = name.find("min_") == std::string::npos &&
                         name.find("max_") == std::string::npos && name != "num_tokens" &&
                         name != "epoch" && !name.starts_with("clip_ratio/low") &&
                         !name.starts_with("clip_ratio/high");
      if (!shown) continue;
      text += fmt::format(" | {} {}", name == "clip_ratio/region_mean" ? "clip_ratio" : name,
                          value ? fmt::format("{:.4g}", *value) : "nan");
    }
    text += "\n";
  }
  return text + traceback(run);
}

std::string settings_name(Style style) {
  return style == Style::plain ? "config.yaml" : "grpo.yaml";
}

/// In the keys of TRL's scripts.
std::string configuration(const GrpoConfig& config, const std::string& output) {
  std::string text = fmt::format(
      "model_name_or_path: ./sums-sft\n"
      "dataset_name: ./sums\n"
      "output_dir: {}\n"
      "seed: {}\n"
      "max_steps: {}\n"
      "per_device_train_batch_size: {}\n"
      "gradient_accumulation_steps: 1\n"
      "learning_rate: {}\n"
      "lr_scheduler_type: linear\n"
      "warmup_steps: 0\n"
      "max_grad_norm: {}\n"
      "weight_decay: 0.0\n"
      "bf16: false\n"
      "logging_steps: {}\n",
      output, config.seed, config.max_steps, config.prompts * config.num_generations,
      config.learning_rate, python(config.max_grad_norm), config.logging_steps);
  text += fmt::format(
      "num_generations: {}\n"
      "num_iterations: {}\n"
      "max_completion_length: {}\n"
      "temperature: {}\n"
      "top_k: {}\n"
      "beta: {}\n"
      "epsilon: {}\n"
      "loss_type: {}\n"
      "scale_rewards: group\n"
      "use_vllm: {}\n",
      config.num_generations, config.num_iterations, config.max_completion_length,
      python(config.temperature), config.top_k, python(config.beta), python(config.epsilon),
      config.loss_type == LossType::dapo ? "dapo" : "grpo", config.own_sampler);
  if (config.entropy_coef != 0) text += fmt::format("entropy_coef: {}\n", config.entropy_coef);
  text += "reward_funcs:\n";
  for (const RewardFunction& each : config.rewards) text += "  - rewards." + each.name + "\n";
  return text;
}

core::Result<void> write(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    return core::fail(
        core::ErrorCode::not_writable,
        fmt::format("[lab] {} cannot be written; see space and rights", path.string()));
  return {};
}

}  // namespace

Trace trace_of(const GrpoRun& run, const GrpoConfig& config) {
  Trace trace;
  trace.planned_steps = config.max_steps;
  trace.log_steps = config.logging_steps;
  trace.grad_clip = config.max_grad_norm;
  trace.vocab_size = static_cast<double>(k_rl_vocabulary);
  trace.is_reinforcement = true;
  trace.error = run.error;
  trace.halted = run.halted;
  trace.guard_acts = run.guard_acts;
  for (const GrpoRecord& record : run.records) {
    Sample sample{record.step, {}};
    for (const auto& [name, value] : record.values) {
      if (value) sample.values.emplace_back(series_of(name), as_logged(name, *value));
    }
    trace.steps = record.step;
    trace.samples.push_back(std::move(sample));
  }
  return trace;
}

core::Result<void> write_rl_settings(const GrpoConfig& config, Style style,
                                     const std::string& folder) {
  return write(fs::path(folder) / settings_name(style), configuration(config, "./out"));
}

core::Result<void> write_rl_evidence(const GrpoRun& run, const GrpoConfig& config, Style style,
                                     const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files = {
      {log_name(style), style == Style::plain ? plain_log(run, config) : hf_log(run, config)},
      {settings_name(style), configuration(config, "./out")}};
  if (style == Style::hf) {
    files.emplace_back(fmt::format("checkpoint-{}/trainer_state.json", config.max_steps),
                       trainer_state(run, config));
  }
  if (style == Style::own) files.emplace_back("metrics.jsonl", jsonl(run));
  for (const auto& [name, text] : files) {
    const auto written = write(fs::path(folder) / name, text);
    if (!written) return written;
  }
  return {};
}

}  // namespace aplomb::train::lab
