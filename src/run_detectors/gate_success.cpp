/// The success criteria, judged one by one: finite for 100 steps, loss falls, gradient norm finite
/// and below 100, memory steady, evaluation improves, an epoch completed. Each is true, false, or
/// not known from this log.

#include <fmt/format.h>

#include <optional>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::int64_t k_steps = 100;
constexpr double k_norm = 100;
constexpr double k_fall = 0.01;  // of the start level, and beyond the noise
constexpr double k_memory = 1.1;

const detectors::DetectorSpec& gate_success_spec() {
  static const detectors::DetectorSpec spec{
      "gate.success",
      {"gate.success"},
      "The success criteria of a stable run, each for itself",
      "Says which of them hold and which this log cannot show.",
      "100 steps without NaN, loss 2.3 -> 1.4, grad_norm below 100, eval_loss 1.9 -> 1.5",
      {record::Role::loss, record::Role::grad_norm, record::Role::memory_bytes,
       record::Role::eval_loss, record::Role::epoch, record::Role::loss_scale},
      {{"steps", static_cast<double>(k_steps), "steps", 1, 1e6,
        "the bf16 stability checklist: no NaN in the first 100 steps"},
       {"norm", k_norm, "", 1, 1e6, "the bf16 stability checklist: grad_norm finite and below 100"},
       {"memory", k_memory, "x", 1, 10,
        "the bf16 stability checklist: memory consistent across steps"}},
      {}};
  return spec;
}

class GateSuccessDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return gate_success_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) see(frame, reading);
    if ((context.step_kind == record::StepKind::epoch))
      epoch_ = std::max(epoch_, static_cast<double>(frame.step));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (losses_ + bad_ < 2) return;
    detectors::Symptom symptom;
    symptom.id = "gate.success";
    symptom.series = "loss";
    symptom.first_step = first_step_;
    symptom.last_step = last_step_;
    std::string open, in_words;
    bool passed = true;
    const auto tell = [&](const char* what, const char* words, std::optional<bool> held) {
      if (!held) return;
      symptom.measures[what] = *held;
      if (*held) return;
      passed = false;
      open += (open.empty() ? "" : ", ") + std::string(what);
      in_words += (in_words.empty() ? "" : ", ") + std::string(words);
    };
    tell("finite", "every value is finite", bad_ == 0);
    // A policy's loss is centred on 0 by its making (policy_course.cpp has what counts there).
    if (!context.reinforcement) {
      if (losses_ > 0) tell("loss_not_zero", "the loss is not exactly 0", !last_is_zero_);
      tell("loss_falls", "the loss falls", falls());
    }
    if (norms_ > 0 || lost_norms_ >= k_lost)
      tell("grad_norm_finite", "the gradient norm is finite", keeps_norm());
    if (norms_ > 0)
      tell("grad_norm_below_100", "the gradient norm stays below 100", largest_norm_ < k_norm);
    if (memory_.count() >= 8) tell("memory_steady", "memory is steady", steady());
    if (evals_ >= 2) tell("eval_improves", "the held-out loss improves", best_eval_ < first_eval_);
    if (epoch_ > 0) symptom.measures["epoch_completed"] = epoch_ >= 1;
    const bool unfinished =
        context.counts_steps() && context.planned_steps &&
        static_cast<double>(last_step_) < k_all * static_cast<double>(*context.planned_steps);
    symptom.measures["unfinished"] = unfinished;
    const bool long_enough = last_step_ - first_step_ >= k_steps;
    symptom.measures["hundred_steps"] = long_enough;
    symptom.measures["passed"] = passed;
    symptom.measures["reasons"] = open;
    symptom.summary =
        passed ? "every success criterion that this log can show holds" : "not met: " + in_words;
    if (!long_enough)
      symptom.summary += fmt::format(" (of {} steps)", last_step_ - first_step_ + 1);
    if (unfinished)
      symptom.summary +=
          fmt::format("; the run stands at step {} of {}", last_step_, *context.planned_steps);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

 private:
  void see(const detectors::Frame& frame, const detectors::Reading& reading) {
    const bool finite = std::isfinite(reading.value);
    switch (reading.role) {
      case record::Role::loss:
        if (losses_ + bad_ == 0) first_step_ = frame.step;
        last_step_ = frame.step;
        last_ = sample_of(frame, reading);
        if (finite) {
          ++losses_;
          last_is_zero_ = reading.value == 0;
          loss_.add(frame.step, reading.value);
        } else {
          ++bad_;
        }
        break;
      case record::Role::grad_norm:
        if (finite) {
          ++norms_;
          lost_norms_ = 0;
          largest_norm_ = std::max(largest_norm_, reading.value);
        } else {
          ++lost_norms_;
          // While a loss scale is looked for, any norm may be lost.
          if (std::isnan(reading.value) && norms_ >= k_settled) ++nan_norms_;
        }
        break;
      case record::Role::loss_scale:
        scaled_ = true;
        break;
      case record::Role::memory_bytes:
        if (finite) memory_.add(frame.step, reading.value);
        break;
      case record::Role::eval_loss:
        if (!finite) break;
        if (evals_++ == 0) first_eval_ = best_eval_ = reading.value;
        best_eval_ = std::min(best_eval_, reading.value);
        break;
      case record::Role::epoch:
        if (finite) epoch_ = std::max(epoch_, reading.value);
        break;
      default:
        break;
    }
  }

  /// Overflows that loss scaling skips come singly, as Inf; a NaN is none, and what stays without a
  /// value is lost.
  bool keeps_norm() const { return lost_norms_ < k_lost && (nan_norms_ == 0 || scaled_); }

  std::optional<bool> falls() const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    if (curve.size < 5) return std::nullopt;
    return curve.start - curve.last > std::max(k_fall * std::fabs(curve.start), curve.noise);
  }

  bool steady() const {
    const auto blocks = memory_.blocks();
    return blocks.back().level() <= k_memory * blocks[blocks.size() / 3].level();
  }

  bool last_is_zero_ = false;
  std::uint64_t losses_ = 0;
  std::uint64_t bad_ = 0;
  static constexpr std::uint64_t k_lost = 3;
  static constexpr std::uint64_t k_settled = 20;  // norms: a scale is found within 20 halvings
  static constexpr double k_all =
      0.98;  // of the planned steps: the last record may lie before the end
  std::uint64_t nan_norms_ = 0;
  bool scaled_ = false;  ///< a loss scale is logged
  std::uint64_t norms_ = 0;
  std::uint64_t lost_norms_ = 0;  ///< not finite, since the last that was
  std::uint64_t evals_ = 0;
  double largest_norm_ = 0;
  double first_eval_ = 0;
  double best_eval_ = 0;
  double epoch_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  core::BlockSummary loss_;
  core::BlockSummary memory_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_gate_success_detector() {
  return std::make_unique<GateSuccessDetector>();
}

}  // namespace aplomb::run_detectors
