#include "train/lab/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/loop/checkpoint_store.h"
#include "train/loop/event_file.h"
#include "train/loop/journal.h"

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;

/// As Python prints a float of a dict: nan, inf, 3e-05.
std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

double rounded(double value, double digits) {
  if (!std::isfinite(value)) return value;
  const double factor = std::pow(10.0, digits);
  return std::round(value * factor) / factor;
}

std::string hf_key(const std::string& name) { return name == "lr" ? "learning_rate" : name; }

std::string hf_line(const Sample& sample) {
  std::string line;
  for (const auto& [name, value] : sample.values)
    line += fmt::format("{}'{}': {}", line.empty() ? "" : ", ", hf_key(name), python_number(value));
  return "{" + line + "}\n";
}

std::string plain_line(const Sample& sample) {
  std::string line = fmt::format("step {}", sample.step);
  for (const auto& [name, value] : sample.values) {
    line += name == "lr" ? fmt::format(" | lr {:.3e}", value)
                         : fmt::format(" | {} {:.4f}", name, value);
  }
  return line + "\n";
}

loop::Record record_of(const Sample& sample) {
  loop::Record record;
  record.step = sample.step;
  for (const auto& [name, value] : sample.values) {
    if (name == "loss") record.loss = value;
    if (name == "eval_loss") record.eval_loss = value;
    if (name == "grad_norm") record.grad_norm = value;
    if (name == "lr") record.lr = value;
    if (name == "epoch") record.epoch = value;
    if (name == "loss_scale") record.loss_scale = value;
    if (name == "tokens_per_s") record.tokens_per_s = value;
    if (name == "step_time_s") record.step_time_s = value;
    if (name == "host_memory_bytes") record.host_memory_bytes = value;
  }
  return record;
}

/// trainer_state.json as transformers writes it into each checkpoint; NaN as Python's json has it.
std::string trainer_state(const std::vector<Sample>& samples, const Trace& trace) {
  std::string history;
  for (const Sample& each : samples) {
    std::string entry;
    for (const auto& [name, value] : each.values) {
      const std::string number = std::isnan(value)   ? "NaN"
                                 : std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity")
                                                     : python_number(value);
      entry += fmt::format("      \"{}\": {},\n", hf_key(name), number);
    }
    history += fmt::format("{}    {{\n{}      \"step\": {}\n    }}", history.empty() ? "" : ",\n",
                           entry, each.step);
  }
  return fmt::format(
      "{{\n  \"best_metric\": null,\n  \"best_model_checkpoint\": null,\n  \"global_step\": {},\n"
      "  \"is_hyper_param_search\": false,\n  \"log_history\": [\n{}\n  ],\n"
      "  \"logging_steps\": {},\n  \"max_steps\": {}\n}}\n",
      trace.steps, history, trace.log_steps, trace.planned_steps);
}

class Folder {
 public:
  explicit Folder(fs::path path) : path_(std::move(path)) {}
  void write(const std::string& name, std::string_view text) {
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    file.flush();
    good_ = good_ && static_cast<bool>(file);
  }
  bool good() const { return good_; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool good_ = true;
};

std::string head_of(const UserFiles& user) {
  std::string text;
  for (const std::string& line : user.greeting) text += line + "\n";
  return text;
}

/// What the program's end looks like when it is an error.
std::string traceback(const Trace& trace) {
  if (trace.error.empty()) return {};
  return "Traceback (most recent call last):\n  File \"train.py\", line 47, in "
         "<module>\nRuntimeError: " +
         trace.error + "\n";
}

std::string lines_of(const std::vector<Sample>& samples, const Trace& trace, Style style) {
  std::string text;
  auto resumed = trace.resumed_at.begin();
  for (const Sample& each : samples) {
    if (resumed != trace.resumed_at.end() && each.step > *resumed) {
      text += fmt::format("Resuming from checkpoint out/checkpoint-{}\n", *resumed);
      ++resumed;
    }
    if (style == Style::own) text += loop::log_line(record_of(each), trace.planned_steps) + "\n";
    if (style == Style::hf) text += hf_line(each);
    if (style == Style::plain) text += plain_line(each);
  }
  return text;
}

core::Result<void> write_own(const std::vector<Sample>& samples, Folder& folder) {
  std::string metrics;
  auto events = loop::EventFile::create(folder.path().string());
  if (!events) return tl::unexpected(events.error());
  // A wall clock of its own, so that equal runs leave equal files: a second a record.
  double wall_s = 1.7e9;
  for (const Sample& each : samples) {
    const loop::Record record = record_of(each);
    metrics += loop::json_line(record);
    events->write(each.step, wall_s += 1, loop::scalars_of(record));
  }
  folder.write("metrics.jsonl", metrics);
  return {};
}

core::Result<void> copy_checkpoints(const std::string& from, const fs::path& to, bool optimizer) {
  std::error_code why;
  for (const auto& each : fs::directory_iterator(from, why)) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with("checkpoint-")) continue;
    fs::copy(each.path(), to / name, fs::copy_options::recursive, why);
    if (why) break;
    if (optimizer) continue;
    fs::remove(to / name / loop::k_optimizer_file, why);
    fs::remove(to / name / loop::k_training_state_file, why);
  }
  if (why)
    return core::fail(core::ErrorCode::not_writable, "[lab] " + to.string() + ": " + why.message());
  return {};
}

}  // namespace

std::string yaml_of(const UserSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += fmt::format("{}: {}\n", key, value);
  return text;
}

std::vector<Sample> as_logged(const std::vector<Sample>& samples, Style style) {
  std::vector<Sample> seen = samples;
  for (Sample& each : seen) {
    if (style == Style::plain)  // few print it in a loop of their own
      std::erase_if(each.values, [](const auto& value) { return value.first == "epoch"; });
    for (auto& [name, value] : each.values) {
      if (style == Style::hf && name == "loss" && !std::isfinite(value)) value = 0;
      const bool fine = name == "lr" || style == Style::own;
      if (!fine) value = rounded(value, 4);
    }
  }
  return seen;
}

std::string log_name(Style style) {
  return style == Style::own ? "train.log" : style == Style::hf ? "log.txt" : "out.log";
}

core::Result<void> write_before(const UserFiles& user, const Request& request) {
  Folder folder(fs::path(request.folder) / "before");
  std::error_code why;
  fs::create_directories(folder.path(), why);
  for (const auto& [name, text] : user.files) folder.write(name, text);
  if (folder.good()) return {};
  return core::fail(core::ErrorCode::not_writable,
                    "[lab] " + folder.path().string() + " cannot be written");
}

core::Result<void> write_evidence(const UserFiles& user, const Trace& trace,
                                  const Request& request) {
  Folder folder(fs::path(request.folder) / "evidence");
  std::error_code why;
  fs::create_directories(folder.path(), why);
  const std::vector<Sample> samples = as_logged(trace.samples, request.style);
  folder.write(log_name(request.style),
               head_of(user) + lines_of(samples, trace, request.style) + traceback(trace));
  for (const auto& [name, text] : user.files) folder.write(name, text);
  if (request.style == Style::own) {
    if (auto done = write_own(samples, folder); !done) return done;
  }
  if (request.style == Style::hf) folder.write("trainer_state.json", trainer_state(samples, trace));
  if (!folder.good()) {
    return core::fail(core::ErrorCode::not_writable,
                      "[lab] " + folder.path().string() + " cannot be written");
  }
  if (user.checkpoints.empty()) return {};
  return copy_checkpoints(user.checkpoints, folder.path(), request.style == Style::own);
}

}  // namespace aplomb::train::lab
