/// The policy in reinforcement learning: entropy, KL divergence, mismatch between trainer and
/// sampler, PPO clipping. One table of red flags; each with its source.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "detectors/range_watch.h"

namespace aplomb::policy_detectors {
namespace {

using Side = detectors::RangeWatch::Side;

struct Flag {
  const char* id;
  record::Role role;
  Side side;
  double limit;
  bool grave;  ///< a run that stays there does not train
  const char* words;
};

// Limits: axolotl's training stability guide, table of GRPO metrics (red flag column); a step
// inside it where the healthy range is far away.
constexpr std::array k_flags{
    Flag{"entropy.collapse", record::Role::entropy, Side::below, 0.01, true,
         "the policy has collapsed to one answer"},
    Flag{"entropy.high", record::Role::entropy, Side::above, 1.0, false,
         "the policy does not settle"},
    Flag{"kl.high", record::Role::kl, Side::above, 2.0, true, "the policy has left its reference"},
    Flag{"logp_difference.high", record::Role::logp_difference, Side::above, 1.0, true,
         "sampler and trainer disagree"},
    Flag{"is_ratio.low", record::Role::is_ratio_min, Side::below, 0.01, false,
         "samples come from another policy"},
    Flag{"is_ratio.high", record::Role::is_ratio_max, Side::above, 10.0, false,
         "samples come from another policy"},
    Flag{"clip_ratio.high", record::Role::clip_ratio, Side::above, 0.3, false,
         "most updates are clipped away"},
};
constexpr double k_off_policy_difference =
    0.1;                                    // healthy below (axolotl's training stability guide)
constexpr double k_off_policy_ratio = 0.1;  // healthy above (axolotl's training stability guide)

/// Of the first entropy: judgement, beyond what a metric of a batch varies by.
constexpr double k_settles = 0.8;

/// Under the sampler's own probabilities the mean of (trainer's over sampler's) is 1, whatever the
/// two policies are; clipping from above can only lower it.
constexpr double k_ratio_bias = 0.02;
constexpr double k_ratio_errors = 4;  // standard errors
constexpr std::uint64_t k_ratio_records = 10;

const detectors::DetectorSpec& rl_policy_spec() {
  static const detectors::DetectorSpec spec{
      "rl.policy",
      {"entropy.collapse", "entropy.high", "kl.high", "logp_difference.high", "is_ratio.low",
       "is_ratio.high", "clip_ratio.high", "rl.off_policy", "is_ratio.biased"},
      "Entropy, KL, importance ratios and clipping against their red flags",
      "A collapsed, runaway or stale policy gets a learning signal that points nowhere; rewards "
      "follow later.",
      "entropy 0.31, 0.12, 0.02, 0.004, 0.002",
      {record::Role::entropy, record::Role::kl, record::Role::logp_difference,
       record::Role::is_ratio_min, record::Role::is_ratio_max, record::Role::is_ratio_mean,
       record::Role::clip_ratio},
      {{"ratio_bias", k_ratio_bias, "", 0.001, 1,
        "the expectation of an importance ratio is 1 (Owen, Monte Carlo theory, chapter 9); "
        "rounding of bf16 leaves it within 0.01"},
       {"entropy_low", 0.01, "nats", 0, 1,
        "axolotl's training stability guide: below 0.01 suggests mode collapse"},
       {"entropy_high", 1.0, "nats", 0.1, 10,
        "axolotl's training stability guide: above 1.0 the model is not converging"},
       {"kl_high", 2.0, "nats", 0.1, 100,
        "axolotl's training stability guide: above 2.0 too far from the reference"},
       {"logp_difference_high", 1.0, "nats", 0.1, 10,
        "axolotl's training stability guide: above 1.0 far from the server's weights"},
       {"is_ratio_low", 0.01, "", 0, 1,
        "axolotl's training stability guide: healthy above 0.1, near 0 is stale"},
       {"is_ratio_high", 10, "", 1, 1e6, "the reverse of the guide's 0.1"},
       {"clip_ratio_high", 0.3, "fraction", 0, 1,
        "axolotl's training stability guide: above 0.3 clipping is too aggressive"}},
      {"https://arxiv.org/abs/2402.03300", "https://huggingface.co/docs/trl/grpo_trainer"}};
  return spec;
}

class RlPolicyDetector final : public detectors::Detector {
 public:
  RlPolicyDetector() {
    for (const Flag& flag : k_flags) watches_.emplace_back(flag.side, flag.limit);
  }

  const detectors::DetectorSpec& spec() const override { return rl_policy_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) {
      if (!std::isfinite(reading.value)) continue;
      for (std::size_t i = 0; i < k_flags.size(); ++i) {
        if (k_flags[i].role == reading.role) watches_[i].add(sample_of(frame, reading));
      }
      if (reading.role == record::Role::logp_difference) difference_.add(sample_of(frame, reading));
      if (reading.role == record::Role::is_ratio_min) ratio_.add(sample_of(frame, reading));
      if (reading.role == record::Role::is_ratio_mean) mean_ratio_.add(sample_of(frame, reading));
    }
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    for (std::size_t i = 0; i < k_flags.size(); ++i) {
      if (watches_[i].lasting()) report(k_flags[i], watches_[i], context, out);
    }
    report_bias(context, out);
    if (difference_.lasting()) off_policy(difference_, "logp_difference", context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    for (std::size_t i = 0; i < k_flags.size(); ++i) report(k_flags[i], watches_[i], context, out);
    report_bias(context, out);
    // Both signs of samples that are not of this policy, at the edge of the healthy range already.
    if (difference_.count() >= 3 && difference_.fires()) {
      off_policy(difference_, "logp_difference", context, out);
    } else if (ratio_.count() >= 3 && ratio_.fires()) {
      off_policy(ratio_, "is_ratio_min", context, out);
    }
  }

 private:
  struct Mean {
    detectors::Sample first, last;
    std::uint64_t count = 0;
    double mean = 0;
    double squares = 0;  ///< about the mean (Welford)

    void add(const detectors::Sample& sample) {
      if (count++ == 0) first = sample;
      last = sample;
      const double apart = sample.value - mean;
      mean += apart / static_cast<double>(count);
      squares += apart * (sample.value - mean);
    }
    double error() const {
      const auto n = static_cast<double>(count);
      return std::sqrt(squares / (n * (n - 1)));
    }
  };

  void report_bias(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    const double bias = mean_ratio_.mean - 1;
    if (mean_ratio_.count < k_ratio_records || bias < k_ratio_bias ||
        bias < k_ratio_errors * mean_ratio_.error())
      return;
    detectors::Symptom symptom;
    symptom.id = "is_ratio.biased";
    symptom.severity = core::Severity::warning;
    symptom.series = "is_ratio_mean";
    symptom.first_step = mean_ratio_.first.step;
    symptom.last_step = mean_ratio_.last.step;
    symptom.measures["mean"] = mean_ratio_.mean;
    symptom.measures["records"] = static_cast<double>(mean_ratio_.count);
    symptom.summary = fmt::format(
        "the importance ratio is {} on average over {}: of probabilities that samples were drawn "
        "with it would be 1",
        core::show_number(mean_ratio_.mean, 4),
        over_steps(context, symptom.first_step, symptom.last_step));
    add_evidence(symptom, mean_ratio_.first.origin);
    add_evidence(symptom, mean_ratio_.last.origin);
    out.push_back(std::move(symptom));
  }

  static void report(const Flag& flag, const detectors::RangeWatch& watch,
                     const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    if (!watch.fires()) return;
    // Entropy and KL are logged outside of reinforcement learning too; there they flag nothing.
    if (!context.reinforcement &&
        (flag.role == record::Role::entropy || flag.role == record::Role::kl))
      return;
    const bool high_entropy = flag.role == record::Role::entropy && flag.side == Side::above;
    // A large base model starts there: one that is on its way down settles.
    const bool falling = watch.last().value < k_settles * watch.first().value;
    core::Severity severity =
        flag.grave && watch.lasting() ? core::Severity::unstable : core::Severity::warning;
    if (high_entropy && falling) severity = core::Severity::note;
    detectors::Symptom symptom =
        detectors::describe_range(watch, flag.id, name(flag.role), severity);
    symptom.measures["falling"] = falling;
    symptom.summary =
        fmt::format("{} is {} at {}, {} {} in {} of the records: {}", name(flag.role),
                    core::show_number(watch.last().value), at_step(context, watch.last().step),
                    flag.side == Side::above ? "above" : "below", core::show_number(flag.limit),
                    detectors::percent(watch.share()), flag.words);
    out.push_back(std::move(symptom));
  }

  static void off_policy(const detectors::RangeWatch& watch, const char* series,
                         const detectors::RunContext& context,
                         std::vector<detectors::Symptom>& out) {
    const core::Severity severity =
        watch.lasting() ? core::Severity::warning : core::Severity::note;
    detectors::Symptom symptom =
        detectors::describe_range(watch, "rl.off_policy", series, severity);
    symptom.summary = fmt::format(
        "{} is {} at {}: the samples are not of the policy that learns from them", series,
        core::show_number(watch.last().value), at_step(context, watch.last().step));
    out.push_back(std::move(symptom));
  }

  std::vector<detectors::RangeWatch> watches_;
  detectors::RangeWatch difference_{Side::above, k_off_policy_difference};
  detectors::RangeWatch ratio_{Side::below, k_off_policy_ratio};
  Mean mean_ratio_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_rl_policy_detector() {
  return std::make_unique<RlPolicyDetector>();
}

}  // namespace aplomb::policy_detectors
