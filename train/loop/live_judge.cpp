#include "train/loop/live_judge.h"

#include <fmt/format.h>

#include <array>

namespace aplomb::train::loop {
namespace {

struct Column {
  const char* name;
  record::Role role;
  std::optional<double> Record::* value;
};

constexpr std::array k_columns{
    Column{"loss", record::Role::loss, &Record::loss},
    Column{"eval_loss", record::Role::eval_loss, &Record::eval_loss},
    Column{"grad_norm", record::Role::grad_norm, &Record::grad_norm},
    Column{"lr", record::Role::lr, &Record::lr},
    Column{"epoch", record::Role::epoch, &Record::epoch},
    Column{"tokens_per_s", record::Role::tokens_per_s, &Record::tokens_per_s},
    Column{"memory_bytes", record::Role::memory_bytes, &Record::memory_bytes},
    Column{"loss_scale", record::Role::loss_scale, &Record::loss_scale},
};

detectors::RunContext context_of(const LiveJudge::Plan& plan) {
  detectors::RunContext context;
  for (const Column& each : k_columns) context.series_names.emplace_back(each.name);
  context.planned_steps = plan.total_steps;
  context.log_steps = plan.logging_steps;
  if (plan.max_grad_norm > 0) context.grad_clip = plan.max_grad_norm;
  if (plan.vocab_size > 0) context.vocab_size = static_cast<double>(plan.vocab_size);
  return context;
}

/// Told whatever their severity: people wait for them.
bool is_awaited(const std::string& id) {
  return id == "gate.first_ten" || id == "gate.success" || id == "run.healthy";
}

/// A step that takes longer makes the result no worse: it is told, and the run stays healthy.
bool is_of_speed_alone(const detectors::Symptom& symptom) {
  return symptom.series == "tokens_per_s";
}

std::string headed(const detectors::Symptom& symptom) {
  if (symptom.id == "gate.first_ten") return "first steps: " + symptom.summary;
  if (symptom.id == "gate.success") return "success criteria: " + symptom.summary;
  if (symptom.id == "run.healthy") return "healthy: " + symptom.summary;
  return fmt::format("{} ({}): {}", name(symptom.severity), symptom.id, symptom.summary);
}

}  // namespace

LiveJudge::LiveJudge(const Plan& plan) : bank_(context_of(plan)) {}

std::vector<Said> LiveJudge::observe(const Record& record) {
  if (record.step < last_step_) ++segment_;
  last_step_ = record.step;
  std::vector<detectors::Reading> readings;
  for (std::uint32_t i = 0; i < k_columns.size(); ++i) {
    if (const auto& value = record.*(k_columns[i].value))
      readings.push_back({k_columns[i].role, i, *value, {}});
  }
  bank_.observe({record.step, segment_, readings});
  return fresh(bank_.so_far(), false);
}

std::vector<Said> LiveJudge::finish() {
  const std::vector<detectors::Symptom> symptoms = bank_.finish();
  for (const detectors::Symptom& each : symptoms) {
    if (!is_of_speed_alone(each)) worst_ = std::max(worst_, each.severity);
  }
  return fresh(symptoms, true);
}

std::vector<Said> LiveJudge::fresh(const std::vector<detectors::Symptom>& symptoms, bool last) {
  std::vector<Said> said;
  for (const detectors::Symptom& each : symptoms) {
    if (each.severity < core::Severity::warning && !is_awaited(each.id)) continue;
    const auto [known, is_new] = told_.try_emplace(each.id + "/" + each.series, each.severity);
    const bool worse = known->second < each.severity;
    known->second = std::max(known->second, each.severity);
    if (is_new || worse || (last && each.id == "gate.success"))
      said.push_back({each.severity, headed(each)});
  }
  return said;
}

}  // namespace aplomb::train::loop
