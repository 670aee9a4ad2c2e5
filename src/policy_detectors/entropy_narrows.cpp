/// A policy whose entropy narrows to a tenth while its reward has long stopped rising, far from settled:
/// it no longer tries what would earn more. A solved task narrows as well; there the reward stands
/// still at its best and hardly varies.

#include <fmt/format.h>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr std::size_t k_least = 12;
/// Of the first entropy. Judgement in view of sound agents here, which end at a fifth and more while
/// their reward rises.
constexpr double k_narrow = 0.1;
constexpr double k_narrowing = 0.35;  // where most of the narrowing is done
constexpr std::size_t k_least_after = 8;
/// Of what was gained: rewards of a task that is solved vary by less. Judgement.
constexpr double k_unsettled = 0.05;
constexpr double k_full = 0.9;  // of rewards or shares that are 1 at most

const detectors::DetectorSpec& entropy_narrows_spec() {
  static const detectors::DetectorSpec spec{
      "entropy.narrows",
      {"entropy.narrows"},
      "The entropy goes on narrowing while the reward has stopped rising, unsettled",
      "What is no longer tried cannot be learnt: the policy settles on less than it could earn.",
      "entropy 1.4, 0.5, 0.1, 0.07 with returns of 0.38, 0.27, 0.32, 0.21 since the second",
      {record::Role::entropy, record::Role::reward},
      {{"narrow", k_narrow, "of the first entropy", 0.001, 1, "judgement: a tenth"},
       {"unsettled", k_unsettled, "of what was gained", 0.001, 1,
        "judgement: rewards of solved tasks vary by less"}},
      {"https://arxiv.org/abs/1602.01783", "https://arxiv.org/abs/2505.22617"}};
  return spec;
}

class EntropyNarrowsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return entropy_narrows_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::entropy, entropies_);
    add_finite(frame, record::Role::reward, rewards_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (entropies_.count() < k_least || rewards_.count() < k_least) return;
    const double first = entropies_.front().value;
    const double late = entropies_.median(0.8, 1);
    if (!(first > 0) || !(late >= 0) || late > k_narrow * first) return;
    const std::int64_t since = narrowed_at(k_narrowing * first);
    detectors::Kept after;
    for (const detectors::Sample& sample : rewards_.samples()) {
      if (sample.step >= since) after.add(sample);
    }
    if (after.count() < k_least_after) return;
    const double now = after.median(0.66, 1);
    const double gained = now - rewards_.median(0, 0.15);
    const double noise = after.noise();
    const bool of_one = most(rewards_) <= 1;
    const bool rises = now - after.median(0, 0.34) > noise;
    if (rises || (of_one && now >= k_full) || noise <= k_unsettled * std::fabs(gained)) return;
    detectors::Symptom symptom;
    symptom.id = "entropy.narrows";
    symptom.severity = core::Severity::warning;
    symptom.series = "entropy";
    symptom.first_step = since;
    symptom.last_step = entropies_.back().step;
    symptom.measures["first"] = first;
    symptom.measures["last"] = late;
    symptom.measures["reward"] = now;
    symptom.summary = fmt::format(
        "entropy narrows {} -> {}, and since {} the reward stands still at {}, give or take {}",
        core::show_number(first, 3), core::show_number(late, 3), at_step(context, since),
        core::show_number(now, 3), core::show_number(noise, 2));
    add_evidence(symptom, entropies_.front().origin);
    add_evidence(symptom, entropies_.back().origin);
    add_evidence(symptom, rewards_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  /// The step from which on no entropy is above the level.
  std::int64_t narrowed_at(double level) const {
    std::int64_t step = entropies_.back().step;
    for (std::size_t i = entropies_.size(); i-- > 0 && entropies_[i].value <= level;)
      step = entropies_[i].step;
    return step;
  }

  static double most(const detectors::Kept& kept) {
    double value = kept.back().value;
    for (const detectors::Sample& sample : kept.samples()) value = std::max(value, sample.value);
    return value;
  }

  detectors::Kept entropies_;
  detectors::Kept rewards_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_entropy_narrows_detector() {
  return std::make_unique<EntropyNarrowsDetector>();
}

}  // namespace aplomb::policy_detectors
