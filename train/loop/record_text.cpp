/// Records as text: the line of the log, the line of metrics.jsonl, and back.

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"
#include "train/loop/journal.h"

namespace aplomb::train::loop {
namespace {

std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

}  // namespace

std::vector<Scalar> scalars_of(const Record& record) {
  std::vector<Scalar> all;
  const auto put = [&](std::string_view name, const std::optional<double>& value) {
    if (value) all.emplace_back(name, *value);
  };
  put("loss", record.loss);
  put("eval_loss", record.eval_loss);
  put("grad_norm", record.grad_norm);
  put("learning_rate", record.lr);
  put("epoch", record.epoch);
  put("tokens_per_s", record.tokens_per_s);
  put("step_time_s", record.step_time_s);
  put("memory_bytes", record.memory_bytes);
  put("host_memory_bytes", record.host_memory_bytes);
  put("mfu", record.mfu);
  put("loss_scale", record.loss_scale);
  return all;
}

std::string json_line(const Record& record) {
  std::string line = fmt::format("{{\"step\": {}", record.step);
  for (const auto& [name, value] : scalars_of(record))
    line += fmt::format(", \"{}\": {}", name, json_number(value));
  return line + "}\n";
}

std::string log_line(const Record& record, std::int64_t total_steps) {
  std::string line = fmt::format("step {}/{}", record.step, total_steps);
  const auto put = [&](const char* name, const std::optional<double>& value, const char* form) {
    if (value) line += fmt::format(" {} {}", name, fmt::format(fmt::runtime(form), *value));
  };
  put("loss", record.loss, "{:.4f}");
  put("eval_loss", record.eval_loss, "{:.4f}");
  put("grad_norm", record.grad_norm, "{:.4g}");
  put("lr", record.lr, "{:.3e}");
  put("epoch", record.epoch, "{:.2f}");
  put("tokens/s", record.tokens_per_s, "{:.0f}");
  put("mfu", record.mfu, "{:.3f}");
  put("loss_scale", record.loss_scale, "{:g}");
  if (record.memory_bytes)
    line += " memory " + core::show_bytes(*record.memory_bytes);
  else if (record.host_memory_bytes)
    line += " host_memory " + core::show_bytes(*record.host_memory_bytes);
  return line;
}

}  // namespace aplomb::train::loop
