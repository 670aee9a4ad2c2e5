#include "train/lab/alarm.h"

#include <algorithm>
#include <map>

#include "detection/bank.h"
#include "detectors/detector.h"
#include "knowledge/framework.h"
#include "sources/metric_names.h"
#include "train/lab/evidence.h"

namespace aplomb::train::lab {
namespace {

class Stream {
 public:
  Stream(const Trace& trace, const std::vector<Sample>& samples) {
    detectors::RunContext context;
    for (const Sample& each : samples) {
      for (const auto& [name, value] : each.values) column_of(name);
    }
    for (const sources::MetricName& each : columns_) context.series_names.push_back(each.series);
    context.planned_steps = trace.planned_steps;
    context.log_steps = trace.log_steps;
    for (const std::int64_t checkpoint : trace.resumed_at)
      context.resumed_at.push_back(checkpoint + 1);
    context.reinforcement = trace.is_reinforcement;
    if (trace.grad_clip > 0) context.grad_clip = trace.grad_clip;
    if (trace.vocab_size > 0) context.vocab_size = trace.vocab_size;
    bank_.emplace(std::move(context));
  }

  const std::vector<detectors::Symptom>& observe(const Sample& sample) {
    if (sample.step < last_step_) ++segment_;
    last_step_ = sample.step;
    std::vector<detectors::Reading> readings;
    for (const auto& [name, value] : sample.values) {
      const std::size_t column = column_of(name);
      const sources::MetricName& known = columns_[column];
      readings.push_back({known.role, static_cast<std::uint32_t>(column), value * known.scale, {}});
    }
    bank_->observe({sample.step, segment_, readings});
    return bank_->so_far();
  }

  std::vector<detectors::Symptom> finish() { return bank_->finish(); }

 private:
  std::size_t column_of(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    names_.push_back(name);
    const record::Role role = knowledge::series_role(name);  // most have the names of the table
    columns_.push_back(role == record::Role::other ? sources::name_metric(name)
                                                   : sources::MetricName{name, 1, role});
    return names_.size() - 1;
  }

  std::vector<std::string> names_;
  std::vector<sources::MetricName> columns_;
  std::optional<detection::DetectorBank> bank_;
  std::int64_t last_step_ = 0;
  std::uint16_t segment_ = 0;
};

/// What was said already, with the severity it had then.
using Said = std::map<std::string, core::Severity>;

const detectors::Symptom* first_of(const std::vector<detectors::Symptom>& symptoms,
                                   core::Severity least, const Said& said) {
  const auto found =
      std::find_if(symptoms.begin(), symptoms.end(), [&](const detectors::Symptom& each) {
        const auto known = said.find(each.id);
        return each.severity >= least && (known == said.end() || each.severity > known->second);
      });
  return found == symptoms.end() ? nullptr : &*found;
}

void remember(const std::vector<detectors::Symptom>& symptoms, Said& said) {
  for (const detectors::Symptom& each : symptoms) {
    core::Severity& worst = said.try_emplace(each.id, each.severity).first->second;
    worst = std::max(worst, each.severity);
  }
}

}  // namespace

std::optional<Alarm> first_alarm(const Trace& trace, Style style, core::Severity least,
                                 std::int64_t begins) {
  const std::vector<Sample> samples = as_logged(trace.samples, style);
  Stream stream(trace, samples);
  Said before;
  for (const Sample& each : samples) {
    const std::vector<detectors::Symptom>& symptoms = stream.observe(each);
    if (each.step < begins) {
      remember(symptoms, before);
      continue;
    }
    const detectors::Symptom* found = first_of(symptoms, least, before);
    if (found != nullptr) return Alarm{each.step, found->severity, found->id};
  }
  const std::vector<detectors::Symptom> whole = stream.finish();
  const std::int64_t last = samples.empty() ? trace.steps : samples.back().step;
  // An error that ends the program is seen by everybody, and says so itself.
  if (!trace.error.empty()) return Alarm{last, core::Severity::failed, "error"};
  if (const detectors::Symptom* found = first_of(whole, least, before); found != nullptr)
    return Alarm{last, found->severity, found->id};
  return std::nullopt;
}

}  // namespace aplomb::train::lab
