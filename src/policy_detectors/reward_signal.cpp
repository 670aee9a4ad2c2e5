/// The learning signal in reinforcement learning: rewards that are 0, flat, falling, saturated or
/// without spread; groups without advantage; and a gradient that is 0 although the rewards differ.
/// A policy loss of 0 alone means nothing: the advantages of a group add up to 0, and it is the
/// gradient that counts.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr double k_no_spread =
    0.8;  // frac_reward_zero_std: healthy below (axolotl's training stability guide)
constexpr double k_every = 0.995;  // prints as 1.0 or 0.99: every group, or all but one of hundreds
constexpr double k_most = 0.8;     // share of records that makes a state
constexpr std::uint64_t k_few = 5;
constexpr std::uint64_t k_patience =
    20;                               // axolotl's training stability guide: above 0 within 20 steps
constexpr double k_loss_zero = 5e-4;  // prints as 0.000
constexpr double k_saturated = 0.98;  // of the highest possible reward of one function
constexpr double k_fall = 0.2;

const detectors::DetectorSpec& reward_signal_spec() {
  static const detectors::DetectorSpec spec{
      "reward.signal",
      {"reward.zero", "reward.flat", "reward.no_spread", "reward.falling", "reward.saturated",
       "rl.zero_advantage", "rl.no_gradient", "rl.loss_zero_normal"},
      "Rewards without a signal, and a gradient of 0 although there is one",
      "Group-relative methods learn from differences of rewards inside a group: without any, every "
      "step is wasted.",
      "reward_std 0.0, frac_reward_zero_std 1.0, grad_norm 0.0",
      {record::Role::reward, record::Role::reward_component, record::Role::reward_std,
       record::Role::frac_reward_zero_std, record::Role::grad_norm, record::Role::loss,
       record::Role::kl},
      {{"no_spread", k_no_spread, "fraction", 0, 1,
        "axolotl's training stability guide: frac_reward_zero_std healthy below 0.8"},
       {"patience", static_cast<double>(k_patience), "records", 1, 1000,
        "axolotl's training stability guide: rewards above 0 within 20 steps"},
       {"most", k_most, "fraction", 0.5, 1,
        "single groups without spread are normal (axolotl's training stability guide)"},
       {"saturated", k_saturated, "", 0.5, 1, "rewards of one function are customarily 0 to 1"}},
      {"https://arxiv.org/abs/2402.03300", "https://github.com/huggingface/trl/issues/3857"}};
  return spec;
}

class RewardSignalDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return reward_signal_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* reward = finite_of(frame, record::Role::reward);
    const detectors::Reading* spread = finite_of(frame, record::Role::reward_std);
    const detectors::Reading* no_spread = finite_of(frame, record::Role::frac_reward_zero_std);
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (reward != nullptr) see_reward(sample_of(frame, *reward));
    see_components(frame, context);
    if (reward == nullptr && spread == nullptr && no_spread == nullptr) return;
    const detectors::Reading& any = reward != nullptr   ? *reward
                                    : spread != nullptr ? *spread
                                                        : *no_spread;
    last_ = sample_of(frame, any);
    if (records_++ == 0) first_ = last_;
    if (spread != nullptr) {
      no_spread_.add(spread->value == 0);
      spread_sum_ += spread->value;
    }
    judge_signal(frame, spread, no_spread, norm);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (no_advantage_.of >= k_patience) report_advantage(context, out);
    if (no_gradient_.of >= k_few) report_no_gradient(context, out);
    if (records_ >= k_patience) report_level(out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (records_ == 0 && components_.empty()) return;
    report_advantage(context, out);
    report_no_gradient(context, out);
    report_loss_zero(out);
    report_reward(context, out);
    for (const Component& component : components_) report_component(component, context, out);
  }

 private:
  struct Component {
    std::uint32_t series = 0;
    std::string name;
    detectors::Tally zero;
    detectors::Tally full;
    detectors::Sample first;
    detectors::Sample last;
  };

  void see_reward(const detectors::Sample& sample) {
    if (rewards_.count() == 0) first_reward_ = sample;
    last_reward_ = sample;
    rewards_.add(sample.step, sample.value);
    zero_.add(sample.value == 0);
  }

  void see_components(const detectors::Frame& frame, const detectors::RunContext& context) {
    for (const detectors::Reading& reading : frame.readings) {
      if (reading.role != record::Role::reward_component || !std::isfinite(reading.value)) continue;
      auto known = std::find_if(components_.begin(), components_.end(), [&](const Component& each) {
        return each.series == reading.series;
      });
      if (known == components_.end()) {
        components_.push_back(
            {reading.series, series_name(context, reading, "reward"), {}, {}, {}, {}});
        known = components_.end() - 1;
        known->first = sample_of(frame, reading);
      }
      known->zero.add(reading.value == 0);
      known->full.add(reading.value >= k_saturated && reading.value <= 1.0);
      known->last = sample_of(frame, reading);
    }
  }

  void judge_signal(const detectors::Frame& frame, const detectors::Reading* spread,
                    const detectors::Reading* no_spread, const detectors::Reading* norm) {
    const bool grad_zero = norm != nullptr && norm->value == 0;
    // A spread of 0 alone is also what trainers print that do not measure it: the gradient must
    // agree.
    const bool no_advantage = (no_spread != nullptr && no_spread->value > k_no_spread) ||
                              (spread != nullptr && spread->value == 0 && grad_zero);
    if (no_spread != nullptr || (spread != nullptr && norm != nullptr)) {
      no_advantage_.add(no_advantage);
      const double share = no_spread != nullptr ? no_spread->value : 1;
      no_advantage_at_all_.add(no_advantage && share >= k_every);
      if (no_advantage) alike_sum_ += share;
    }
    const bool has_signal =
        spread != nullptr && spread->value > 0 && (no_spread == nullptr || no_spread->value < 1);
    if (has_signal && norm != nullptr) {
      const detectors::Reading* kl = finite_of(frame, record::Role::kl);
      no_gradient_.add(grad_zero && (kl == nullptr || kl->value == 0));
      if (grad_zero) last_no_gradient_ = sample_of(frame, *norm);
    }
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss != nullptr && has_signal && norm != nullptr)
      loss_zero_.add(std::fabs(loss->value) < k_loss_zero && norm->value > 0);
  }

  detectors::Symptom about(std::string id, core::Severity severity, std::string series) const {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = std::move(series);
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    add_evidence(symptom, first_.origin);
    if (records_ > 1) add_evidence(symptom, last_.origin);
    return symptom;
  }

  void report_advantage(const detectors::RunContext&, std::vector<detectors::Symptom>& out) const {
    if (no_advantage_.hit == 0 || no_advantage_.share() < 0.5) return;
    const bool every = no_advantage_at_all_.share() >= k_most;
    const core::Severity severity =
        every && no_advantage_.of >= k_few ? core::Severity::unstable : core::Severity::warning;
    const double alike = alike_sum_ / static_cast<double>(no_advantage_.hit);
    detectors::Symptom symptom = about("rl.zero_advantage", severity, "frac_reward_zero_std");
    symptom.measures["share"] = no_advantage_.share();
    symptom.measures["records"] = static_cast<double>(no_advantage_.of);
    symptom.measures["reward"] = last_reward_.value;
    symptom.measures["alike"] = alike;
    symptom.summary =
        every ? fmt::format(
                    "in {} of {} records the completions of every group all got the same "
                    "reward: no advantage, no gradient",
                    no_advantage_at_all_.hit, no_advantage_.of)
              : fmt::format(
                    "in {} of {} records more than 0.8 of the groups ({} on average) got one "
                    "reward for all their completions: only the others give a gradient",
                    no_advantage_.hit, no_advantage_.of, core::show_number(alike, 2));
    out.push_back(std::move(symptom));
  }

  void report_no_gradient(const detectors::RunContext&,
                          std::vector<detectors::Symptom>& out) const {
    if (no_gradient_.hit == 0 || no_gradient_.share() < k_most) return;
    const core::Severity severity =
        no_gradient_.of >= 3 ? core::Severity::failed : core::Severity::unstable;
    detectors::Symptom symptom = about("rl.no_gradient", severity, "grad_norm");
    symptom.measures["share"] = no_gradient_.share();
    symptom.measures["records"] = static_cast<double>(no_gradient_.of);
    symptom.measures["reward_std"] =
        spread_sum_ / static_cast<double>(std::max<std::uint64_t>(no_spread_.of, 1));
    symptom.summary = fmt::format(
        "grad_norm (and kl) exactly 0 in {} of {} records although rewards differ inside the "
        "groups: nothing flows back",
        no_gradient_.hit, no_gradient_.of);
    add_evidence(symptom, last_no_gradient_.origin);
    out.push_back(std::move(symptom));
  }

  void report_loss_zero(std::vector<detectors::Symptom>& out) const {
    if (loss_zero_.of == 0 || loss_zero_.share() < 0.5) return;
    detectors::Symptom symptom = about("rl.loss_zero_normal", core::Severity::note, "loss");
    symptom.measures["share"] = loss_zero_.share();
    symptom.summary =
        "a policy loss of about 0 is normal here: rewards differ inside the groups and grad_norm "
        "is not 0";
    out.push_back(std::move(symptom));
  }

  void report_reward(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (!report_level(out)) report_trend(context, out);
  }

  /// A reward without spread, or of 0; true where it is of 0.
  bool report_level(std::vector<detectors::Symptom>& out) const {
    const bool group_relative = no_advantage_.of > 0 || !components_.empty();
    if (no_spread_.of > 0 && no_spread_.share() >= 0.9) {
      const core::Severity severity =
          group_relative && no_spread_.of >= 2 ? core::Severity::warning : core::Severity::note;
      detectors::Symptom symptom = about("reward.no_spread", severity, "reward_std");
      symptom.measures["share"] = no_spread_.share();
      symptom.measures["records"] = static_cast<double>(no_spread_.of);
      symptom.summary =
          fmt::format("reward_std is 0 in {} of {} records", no_spread_.hit, no_spread_.of);
      out.push_back(std::move(symptom));
    }
    if (zero_.of > 0 && zero_.share() >= 0.9) {
      detectors::Symptom symptom = about(
          "reward.zero",
          zero_.of >= k_patience ? core::Severity::unstable : core::Severity::warning, "reward");
      symptom.measures["share"] = zero_.share();
      symptom.measures["records"] = static_cast<double>(zero_.of);
      symptom.summary = fmt::format("reward is exactly 0 in {} of {} records", zero_.hit, zero_.of);
      out.push_back(std::move(symptom));
      return true;
    }
    return false;
  }

  void report_trend(const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    const detectors::Curve curve = detectors::curve_of(rewards_);
    if (rewards_.count() < k_patience || curve.size < 10) return;
    const double change = curve.last - curve.start;
    const double highest = *std::max_element(
        curve.smooth.begin(), curve.smooth.begin() + static_cast<std::ptrdiff_t>(curve.size));
    const double scale = std::max({std::fabs(curve.start), std::fabs(highest), 1e-9});
    const double fall = (highest - curve.last) / scale;
    const bool clear = highest - curve.last > 4 * curve.noise && curve.last < highest;
    if (clear && fall > k_fall && change < 0) {
      detectors::Symptom symptom = about("reward.falling", core::Severity::warning, "reward");
      symptom.measures["highest"] = highest;
      symptom.measures["last"] = curve.last;
      symptom.measures["fall_frac"] = fall;
      symptom.summary =
          fmt::format("reward falls {} -> {} by {}", core::show_number(highest),
                      core::show_number(curve.last), at_step(context, last_reward_.step));
      out.push_back(std::move(symptom));
    } else if (rewards_.count() >= 2 * k_patience && !has_risen(curve)) {
      // With a spread inside the groups there was something to learn from, all the time.
      const bool had_signal =
          rewards_.count() >= 3 * k_patience && spread_sum_ > 0 && no_advantage_.share() < 0.5;
      detectors::Symptom symptom = about(
          "reward.flat", had_signal ? core::Severity::warning : core::Severity::note, "reward");
      symptom.measures["level"] = curve.last;
      symptom.measures["change"] = change;
      symptom.measures["records"] = static_cast<double>(rewards_.count());
      symptom.summary = fmt::format("reward stays at {} over {} records",
                                    core::show_number(curve.last), rewards_.count());
      out.push_back(std::move(symptom));
    }
  }

  /// The second half lies above the first by more than chance: two standard errors of the
  /// difference of two means of n levels each, sqrt(2 / n) sigma.
  static bool has_risen(const detectors::Curve& curve) {
    const std::size_t half = curve.size / 2;
    double early = 0;
    double late = 0;
    double square = 0;
    for (std::size_t i = 0; i < half; ++i) {
      early += curve.level[i];
      late += curve.level[curve.size - half + i];
    }
    const auto n = static_cast<double>(half);
    for (std::size_t i = 0; i < half; ++i) {
      square += std::pow(curve.level[i] - early / n, 2) +
                std::pow(curve.level[curve.size - half + i] - late / n, 2);
    }
    const double sigma = std::sqrt(square / std::max(2 * n - 2, 1.0));
    return (late - early) / n > 2 * sigma * std::sqrt(2 / n);
  }

  void report_component(const Component& component, const detectors::RunContext& context,
                        std::vector<detectors::Symptom>& out) const {
    const bool always_zero = component.zero.share() >= 0.9;
    const bool full = component.full.share() >= 0.9;
    if ((!always_zero && !full) || component.zero.of < 2) return;
    // Of several functions one may rightly be 0 or full; of all of them it is the reward itself.
    const bool patient = component.zero.of >= k_patience;
    detectors::Symptom symptom = about(
        always_zero ? "reward.zero" : "reward.saturated",
        always_zero && patient ? core::Severity::warning : core::Severity::note, component.name);
    symptom.first_step = component.first.step;
    symptom.last_step = component.last.step;
    symptom.evidence = {component.first.origin, component.last.origin};
    symptom.measures["name"] = component.name;
    symptom.measures["share"] = always_zero ? component.zero.share() : component.full.share();
    symptom.measures["records"] = static_cast<double>(component.zero.of);
    symptom.summary = fmt::format("{} is {} in {} of {} records, last at {}", component.name,
                                  always_zero ? "0" : "at its highest",
                                  always_zero ? component.zero.hit : component.full.hit,
                                  component.zero.of, at_step(context, component.last.step));
    out.push_back(std::move(symptom));
  }

  std::uint64_t records_ = 0;
  detectors::Tally zero_;
  detectors::Tally no_spread_;
  detectors::Tally no_advantage_;         ///< in most groups
  detectors::Tally no_advantage_at_all_;  ///< in all of them
  detectors::Tally no_gradient_;
  detectors::Tally loss_zero_;
  double spread_sum_ = 0;
  double alike_sum_ = 0;
  core::BlockSummary rewards_;
  std::vector<Component> components_;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample first_reward_;
  detectors::Sample last_reward_;
  detectors::Sample last_no_gradient_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_reward_signal_detector() {
  return std::make_unique<RewardSignalDetector>();
}

}  // namespace aplomb::policy_detectors
