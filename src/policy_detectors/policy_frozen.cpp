/// A policy that gives one answer to each prompt, right for some and wrong for others: entropy
/// below its healthy range, no spread of rewards inside the groups, and scores that differ from
/// prompt to prompt. Nothing more is learnt, for every advantage is 0. A policy that has solved its
/// prompts looks the same but for the last sign.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr double k_entropy = 0.05;  // nats; the lower edge of the healthy range (axolotl's guide)
constexpr double k_alike = 0.8;     // of the groups; healthy below (same table)
constexpr double k_varied = 0.5;    // of the groups at first, that all be alike is a change
constexpr double k_scores = 0.5;  // spread over prompts, of the highest mean: 0/1 scores below 0.8
constexpr std::uint64_t k_lasting = 10;  // records in a row

const detectors::DetectorSpec& policy_frozen_spec() {
  static const detectors::DetectorSpec spec{
      "policy.frozen",
      {"policy.frozen"},
      "The policy says one thing for each prompt, right or wrong",
      "Without a spread inside the groups every advantage is 0: what it does wrong it goes on "
      "doing.",
      "entropy 0.02, frac_reward_zero_std 0.94, rewards/correct/std 0.46",
      {record::Role::entropy, record::Role::frac_reward_zero_std, record::Role::reward_component,
       record::Role::reward_component_std},
      {{"entropy_low", k_entropy, "nats", 0, 1,
        "axolotl's training stability guide: healthy from 0.05"},
       {"groups_alike", k_alike, "fraction", 0.5, 1,
        "axolotl's training stability guide: frac_reward_zero_std healthy below 0.8"},
       {"scores_vary", k_scores, "of the highest mean", 0, 10,
        "a score of 0 or 1 that is met by less than 0.8 of the prompts"}},
      {"https://arxiv.org/abs/2503.14476", "https://arxiv.org/abs/2505.22617"}};
  return spec;
}

class PolicyFrozenDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return policy_frozen_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* entropy = finite_of(frame, record::Role::entropy);
    const detectors::Reading* alike = finite_of(frame, record::Role::frac_reward_zero_std);
    if (entropy == nullptr || alike == nullptr) return;
    if (records_++ == 0) first_ = sample_of(frame, *entropy);
    varied_ = varied_ || alike->value < k_varied;
    const bool frozen = entropy->value < k_entropy && alike->value >= k_alike && scores_vary(frame);
    if (frozen && row_ == 0) since_ = sample_of(frame, *entropy);
    row_ = frozen ? row_ + 1 : 0;
    last_ = sample_of(frame, *entropy);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (!context.reinforcement || row_ < k_lasting || !varied_ || first_.value < 2 * k_entropy)
      return;
    detectors::Symptom symptom;
    symptom.id = "policy.frozen";
    symptom.severity = core::Severity::unstable;
    symptom.series = "entropy";
    symptom.first_step = since_.step;
    symptom.last_step = last_.step;
    symptom.measures["first"] = first_.value;
    symptom.measures["last"] = last_.value;
    symptom.measures["records"] = static_cast<double>(row_);
    symptom.summary = fmt::format(
        "entropy falls {} -> {} and the completions of a prompt all get one score from {} on: the "
        "policy says one thing for each prompt",
        core::show_number(first_.value), core::show_number(last_.value),
        at_step(context, since_.step));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, since_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    interim(context, out);
  }

 private:
  /// Over the batch some score has a spread that prompts solved all alike would not leave.
  bool scores_vary(const detectors::Frame& frame) {
    double spread = 0;
    for (const detectors::Reading& reading : frame.readings) {
      if (!std::isfinite(reading.value)) continue;
      if (reading.role == record::Role::reward_component)
        mean_ = std::max(mean_, std::abs(reading.value));
      if (reading.role == record::Role::reward_component_std)
        spread = std::max(spread, reading.value);
    }
    return mean_ > 0 && spread >= k_scores * mean_;
  }

  std::uint64_t records_ = 0;
  std::uint64_t row_ = 0;
  bool varied_ = false;
  double mean_ = 0;  ///< the highest mean of any score
  detectors::Sample first_, since_, last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_policy_frozen_detector() {
  return std::make_unique<PolicyFrozenDetector>();
}

}  // namespace aplomb::policy_detectors
