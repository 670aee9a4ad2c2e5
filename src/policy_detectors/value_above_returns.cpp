/// Estimated action values above everything that was ever earned: of rewards that are not negative, what
/// is still to come, discounted, is never more than the whole return. Values that grow past it live on
/// themselves: ends of episodes that are bootstrapped over, a maximum over noise, no target network.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr std::size_t k_least = 8;
constexpr std::uint64_t k_least_returns = 5;
/// Of the best return. What is printed as a return may be a mean over episodes, of which some were better.
constexpr double k_times = 2;
constexpr double k_grows =
    1.2;  // from the second quarter to the last: the estimate has not settled

const detectors::DetectorSpec& value_above_returns_spec() {
  static const detectors::DetectorSpec spec{
      "value.above_returns",
      {"value.above_returns"},
      "Estimated values are above any return that was earned, and grow",
      "A policy that follows such values chases rewards that do not exist.",
      "Q mean 1.6, 9.8, 28, 64 beside returns of 9 to 22",
      {record::Role::reward},
      {{"times", k_times, "x the best return", 1, 100,
        "a discounted sum of rewards >= 0 is at most the sum; twice for means over episodes "
        "(judgement)"}},
      {"https://arxiv.org/abs/1509.06461", "https://arxiv.org/abs/1712.00378"},
      false,
      {task::Part::action_value}};
  return spec;
}

class ValueAboveReturnsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return value_above_returns_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* value = finite_part(frame, task::Part::action_value))
      values_.add(sample_of(frame, *value));
    const detectors::Reading* earned = finite_of(frame, record::Role::reward);
    if (earned == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *earned);
    if (returns_++ == 0 || sample.value > best_.value) best_ = sample;
    negative_ = negative_ || sample.value < 0;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (values_.count() < k_least || returns_ < k_least_returns || negative_) return;
    const double late = values_.median(0.75, 1);
    if (!(best_.value > 0) || late < k_times * best_.value ||
        late < k_grows * values_.median(0.25, 0.5))
      return;
    detectors::Symptom symptom;
    symptom.id = "value.above_returns";
    symptom.severity = core::Severity::warning;
    symptom.series = "action value";
    symptom.first_step = values_.front().step;
    symptom.last_step = values_.back().step;
    symptom.measures["value"] = values_.back().value;
    symptom.measures["best_return"] = best_.value;
    symptom.summary =
        fmt::format("values are estimated at {} by {} and grow, and no return was above {}",
                    core::show_number(values_.back().value, 3),
                    at_step(context, values_.back().step), core::show_number(best_.value, 3));
    add_evidence(symptom, values_.back().origin);
    add_evidence(symptom, best_.origin);
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Kept values_;
  detectors::Sample best_;
  std::uint64_t returns_ = 0;
  bool negative_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_value_above_returns_detector() {
  return std::make_unique<ValueAboveReturnsDetector>();
}

}  // namespace aplomb::policy_detectors
