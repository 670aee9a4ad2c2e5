/// Healthy, said aloud and with how sure it is: people ask "is this normal?" more often than
/// anything else. Never from one or two records, and never beside an alarm (the bank takes it back
/// then).

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::uint64_t k_least = 3;  // records; with so few the confidence is low
constexpr double k_fall = 0.03;       // of the start level
constexpr double k_norm_low =
    1e-3;  // axolotl's training stability guide: GRPO 0.001 to 1, SFT 0.1 to 10
constexpr double k_norm_high = 10.0;
constexpr double k_norm_bad = 100.0;

constexpr double k_shown_fall = 0.5;  // judgement: of the smoothed fall, less looks like none

const detectors::DetectorSpec& run_healthy_spec() {
  static const detectors::DetectorSpec spec{
      "run.healthy",
      {"run.healthy"},
      "The run looks as a run should",
      "It is not: it is what to compare with.",
      "loss 2.35, 2.30, 2.24, ... 1.92 with grad_norm 0.82 ... 0.53",
      {record::Role::loss, record::Role::grad_norm, record::Role::eval_loss, record::Role::reward,
       record::Role::reward_std, record::Role::kl},
      {{"fall", k_fall, "fraction", 0, 1,
        "benchmark here: losses of healthy real runs fall by more"},
       {"norm_low", k_norm_low, "", 0, 1, "axolotl's training stability guide: GRPO 0.001 to 1.0"},
       {"norm_high", k_norm_high, "", 1, 1000,
        "axolotl's training stability guide: SFT 0.1 to 10"}},
      {},
      true};
  return spec;
}

class RunHealthyDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return run_healthy_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) see(frame, reading);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement) {
      judge_reinforcement(context, out);
    } else {
      judge_supervised(context, out);
    }
  }

 private:
  void see(const detectors::Frame& frame, const detectors::Reading& reading) {
    const bool finite = std::isfinite(reading.value);
    switch (reading.role) {
      case record::Role::loss:
        finite ? take(loss_, frame, reading) : void(++bad_losses_);
        if (loss_.count() + bad_losses_ == 1) first_ = sample_of(frame, reading);
        last_ = sample_of(frame, reading);
        break;
      case record::Role::grad_norm:
        if (finite) {
          norms_.push(reading.value);
          least_norm_ = std::min(least_norm_, reading.value);
          most_norm_ = std::max(most_norm_, reading.value);
          norm_zeros_ += reading.value == 0 ? 1 : 0;
        } else {
          ++bad_norms_;
        }
        ++norm_count_;
        break;
      case record::Role::eval_loss:
        if (finite) take(eval_, frame, reading);
        break;
      case record::Role::reward:
        if (rewards_.count() == 0 && loss_.count() == 0) first_ = sample_of(frame, reading);
        if (finite) take(rewards_, frame, reading);
        last_reward_ = sample_of(frame, reading);
        break;
      case record::Role::reward_std:
        if (finite) spread_.add(reading.value > 0);
        break;
      case record::Role::kl:
        if (finite)
          far_.add(std::fabs(reading.value) >
                   0.5);  // axolotl's training stability guide: healthy 0 to 0.5
        break;
      default:
        break;
    }
  }

  static void take(core::BlockSummary& blocks, const detectors::Frame& frame,
                   const detectors::Reading& reading) {
    blocks.add(frame.step, reading.value);
  }

  bool norms_fine() const {
    if (norm_count_ == 0) return true;
    if (norms_.empty() || norms_.median() > k_norm_bad) return false;
    return bad_norms_ * 10 <= norm_count_ + 10;
  }
  bool norms_known_good() const {
    return norms_.size() >= 3 && norms_.median() >= k_norm_low && norms_.median() <= k_norm_high;
  }

  /// Grows with the evidence, never reaches certainty: 10 records are worth 0.5, 100 are worth 0.9
  /// of it.
  static double by_count(std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(count + 10);
  }

  void judge_supervised(const detectors::RunContext& context,
                        std::vector<detectors::Symptom>& out) const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    if (loss_.count() < k_least || bad_losses_ > 0 || curve.size < k_least || !norms_fine()) return;
    const double fall = curve.start != 0 ? (curve.start - curve.last) / std::fabs(curve.start) : 0;
    const bool falls = fall >= k_fall && curve.start - curve.last > 1.5 * curve.noise;
    if (!falls || curve.last > 1.05 * std::fabs(curve.best) + 2 * curve.noise) return;
    double confidence = 0.35 + 0.45 * by_count(loss_.count());
    if (norms_known_good()) confidence += 0.1;
    const detectors::Curve eval = detectors::curve_of(eval_);
    if (eval.size >= 3 && eval.last < eval.start && eval.last < 1.05 * eval.best)
      confidence += 0.07;
    detectors::Symptom symptom = about(confidence, loss_.count());
    symptom.measures["start"] = curve.start;
    symptom.measures["last"] = curve.last;
    symptom.measures["fall_frac"] = fall;
    symptom.measures["noise_frac"] = curve.noise / std::max(std::fabs(curve.last), 1e-12);
    // The figures that stand in the log, where they show the fall; else the levels behind the noise.
    const bool shown = first_.value - last_.value >= k_shown_fall * (curve.start - curve.last);
    symptom.summary =
        fmt::format("loss falls {} -> {}{} over {} records ({} to {})",
                    core::show_number(shown ? first_.value : curve.start),
                    core::show_number(shown ? last_.value : curve.last), shown ? "" : " (smoothed)",
                    loss_.count(), at_step(context, first_.step), last_.step);
    add_norms(symptom);
    out.push_back(std::move(symptom));
  }

  /// Group-relative losses say nothing: rewards must be there, differ, and the gradient must be
  /// finite and not 0.
  void judge_reinforcement(const detectors::RunContext& context,
                           std::vector<detectors::Symptom>& out) const {
    if (rewards_.count() < k_least || bad_losses_ > 0 || !norms_fine() || far_.share() > 0.5)
      return;
    if (norm_zeros_ * 2 > norm_count_) return;
    const detectors::Curve curve = detectors::curve_of(rewards_);
    const double change = curve.last - curve.start;
    const bool falling = rewards_.count() >= 20 && change < -3 * curve.noise;
    const bool moves = spread_.share() > 0.5 || change > 0;
    if (falling || !moves) return;
    double confidence = 0.3 + 0.4 * by_count(rewards_.count());
    if (spread_.share() > 0.8) confidence += 0.1;
    if (norms_known_good()) confidence += 0.1;
    detectors::Symptom symptom = about(confidence, rewards_.count());
    symptom.series = "reward";
    symptom.measures["start"] = curve.start;
    symptom.measures["last"] = curve.last;
    symptom.summary = fmt::format("reward {} -> {} over {} records, up to {}",
                                  core::show_number(curve.start), core::show_number(curve.last),
                                  rewards_.count(), at_step(context, last_reward_.step));
    if (spread_.share() > 0.5) symptom.summary += ", rewards differ inside the groups";
    add_norms(symptom);
    out.push_back(std::move(symptom));
  }

  detectors::Symptom about(double confidence, std::uint64_t records) const {
    detectors::Symptom symptom;
    symptom.id = "run.healthy";
    symptom.severity = core::Severity::note;
    symptom.series = "loss";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["confidence"] = confidence;
    symptom.measures["records"] = static_cast<double>(records);
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  void add_norms(detectors::Symptom& symptom) const {
    if (norms_.size() < 3) return;
    symptom.measures["grad_norm"] = norms_.median();
    symptom.summary += fmt::format("; grad_norm {} to {}", core::show_number(least_norm_, 3),
                                   core::show_number(most_norm_, 3));
  }

  core::BlockSummary loss_;
  core::BlockSummary eval_;
  core::BlockSummary rewards_;
  core::SortedWindow<128> norms_;
  detectors::Tally spread_;
  detectors::Tally far_;
  double least_norm_ = std::numeric_limits<double>::infinity();
  double most_norm_ = 0;
  std::uint64_t bad_losses_ = 0;
  std::uint64_t bad_norms_ = 0;
  std::uint64_t norm_count_ = 0;
  std::uint64_t norm_zeros_ = 0;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample last_reward_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_run_healthy_detector() {
  return std::make_unique<RunHealthyDetector>();
}

}  // namespace aplomb::run_detectors
