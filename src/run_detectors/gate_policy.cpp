/// The course of a healthy policy run, criterion by criterion: the reward rises, the entropy comes
/// down without collapsing, gradients stay small, the policy stays near its reference. The loss of a
/// group-relative policy says nothing and is none of them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/curve.h"
#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr double k_early_reward = 0.15;
constexpr std::int64_t k_early_steps = 20;
constexpr double k_good_reward = 0.3;
constexpr double k_entropy_low = 0.05;
constexpr double k_entropy_high = 1.0;
constexpr double k_norm_low = 0.001;
constexpr double k_norm_high = 1.0;
constexpr double k_kl = 0.5;
constexpr std::size_t k_least = 10;

const detectors::DetectorSpec& gate_policy_spec() {
  static const detectors::DetectorSpec spec{
      "gate.policy",
      {"gate.policy", "reward.low"},
      "The criteria of a healthy policy run, each for itself",
      "A policy's loss need not fall: reward, entropy, gradient norm and KL say how it goes.",
      "reward 0.02 -> 0.55, entropy 0.41 -> 0.23, grad_norm 0.1 to 0.3, kl 0.01 -> 0.07",
      {record::Role::reward, record::Role::reward_component, record::Role::entropy,
       record::Role::grad_norm, record::Role::kl, record::Role::frac_reward_zero_std},
      {{"early_reward", k_early_reward, "", 0, 1,
        "axolotl's training stability guide: above 0.15 within 20 steps"},
       {"entropy_low", k_entropy_low, "nats", 0, 1,
        "axolotl's training stability guide: healthy 0.05 to 0.5, starting at 0.3 to 0.6"},
       {"norm_high", k_norm_high, "", 0.001, 100,
        "axolotl's training stability guide: mostly 0.001 to 1.0, 0 now and then"},
       {"kl", k_kl, "nats", 0, 100, "axolotl's training stability guide: healthy 0 to 0.5"}},
      {"https://arxiv.org/abs/2402.03300"}};
  return spec;
}

class GatePolicyDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return gate_policy_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    bool of_frame = false;
    for (const detectors::Reading& reading : frame.readings) {
      if (!std::isfinite(reading.value)) continue;
      const detectors::Sample sample = sample_of(frame, reading);
      switch (reading.role) {
        case record::Role::reward:
          reward_.add(sample);
          of_frame = true;
          break;
        case record::Role::reward_component:
          if (!of_frame) component_.add(sample);
          of_frame = true;
          break;
        case record::Role::entropy:
          entropy_.add(sample);
          break;
        case record::Role::grad_norm:
          if (sample.value > 0) norm_.add(sample);
          break;
        case record::Role::kl:
          kl_.add(sample);
          break;
        default:
          groups_ = true;
          break;
      }
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    const detectors::Kept& reward = reward_.count() > 0 ? reward_ : component_;
    const bool of_a_language_model = groups_ || entropy_.count() > 0 || kl_.count() > 0;
    if (!context.reinforcement || !of_a_language_model || reward.count() < k_least) return;
    detectors::Symptom symptom;
    symptom.id = "gate.policy";
    symptom.series = "reward";
    symptom.first_step = reward.front().step;
    symptom.last_step = reward.back().step;
    std::string open, course;
    const auto tell = [&](const char* what, const std::string& words, bool held) {
      symptom.measures[what] = held;
      if (!held) open += (open.empty() ? "" : ", ") + words;
    };
    const auto add_course = [&](const char* what, const detectors::Kept& kept) {
      course += fmt::format("{}{} {} -> {}", course.empty() ? "" : ", ", what,
                            core::show_number(kept.median(0, 0.1), 2),
                            core::show_number(kept.median(0.9, 1), 2));
    };
    tell_reward(reward, tell);
    add_course("reward", reward);
    if (entropy_.count() >= k_least) {
      const double last = entropy_.median(0.9, 1);
      add_course("entropy", entropy_);
      tell("entropy_holds", "the entropy stays between 0.05 and 1",
           last >= k_entropy_low && last <= k_entropy_high);
    }
    if (norm_.count() >= k_least) {
      const double middle = norm_.median(0, 1);
      course += ", grad_norm " + core::show_number(middle, 2);
      tell("grad_norm_small", "grad_norm is mostly between 0.001 and 1",
           middle >= k_norm_low && middle <= k_norm_high);
    }
    if (kl_.count() >= k_least) {
      add_course("kl", kl_);
      tell("kl_small", "kl stays below 0.5", kl_.median(0.9, 1) <= k_kl);
    }
    symptom.measures["passed"] = open.empty();
    symptom.measures["reasons"] = open;
    symptom.summary = fmt::format(
        "{}: {}", course, open.empty() ? "as a healthy policy run goes" : "not met: " + open);
    add_evidence(symptom, reward.front().origin);
    add_evidence(symptom, reward.back().origin);
    out.push_back(std::move(symptom));
    report_low(reward, context, out);
  }

 private:
  /// A reward of 0 and more that was not above the early mark in time, and is not now: the task is too
  /// hard, or the reward misses what is written. Exactly 0 throughout is another symptom's.
  static void report_low(const detectors::Kept& reward, const detectors::RunContext& context,
                         std::vector<detectors::Symptom>& out) {
    double most = 0;
    for (const detectors::Sample& sample : reward.samples()) {
      if (sample.value < 0) return;
      most = std::max(most, sample.value);
    }
    const bool long_enough = reward.back().step - reward.front().step >= k_early_steps;
    if (!long_enough || !(most > 0) || most > k_early_reward) return;
    detectors::Symptom symptom;
    symptom.id = "reward.low";
    symptom.severity = core::Severity::warning;
    symptom.series = "reward";
    symptom.first_step = reward.front().step;
    symptom.last_step = reward.back().step;
    symptom.measures["highest"] = most;
    symptom.summary =
        fmt::format("reward is {} at most by {}, where a healthy run exceeds {} within {} steps",
                    core::show_number(most, 2), at_step(context, symptom.last_step), k_early_reward,
                    k_early_steps);
    add_evidence(symptom, reward.front().origin);
    add_evidence(symptom, reward.back().origin);
    out.push_back(std::move(symptom));
  }

  template <typename Tell>
  static void tell_reward(const detectors::Kept& reward, const Tell& tell) {
    double least = reward.front().value, most = least;
    bool early = false;
    for (const detectors::Sample& sample : reward.samples()) {
      least = std::min(least, sample.value);
      most = std::max(most, sample.value);
      early = early ||
              (sample.step <= reward.front().step + k_early_steps && sample.value > k_early_reward);
    }
    // Rewards on a scale of their own have no such level.
    const bool usual_scale = least > -1.5 && most < 1.5;
    if (usual_scale && reward.back().step - reward.front().step >= k_early_steps)
      tell("reward_early", "the reward exceeds 0.15 within 20 steps", early);
    const double first = reward.median(0, 0.1);
    const double last = reward.median(0.9, 1);
    const bool good = usual_scale && last >= k_good_reward;
    // Three sigma of the difference of two medians, each of a tenth of the samples.
    const double tenth = std::max(1.0, 0.1 * static_cast<double>(reward.size()));
    const double chance = 3 * 1.25 * std::sqrt(2 / tenth) * reward.noise();
    tell("reward_rises", "the reward rises", last > first + chance || good);
  }

  detectors::Kept reward_, component_, entropy_, norm_, kl_;
  bool groups_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_gate_policy_detector() {
  return std::make_unique<GatePolicyDetector>();
}

}  // namespace aplomb::run_detectors
