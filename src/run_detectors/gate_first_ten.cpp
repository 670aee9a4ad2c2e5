/// The gate of the first ten steps: told as soon as the tenth record is there, so that a run that
/// cannot work costs minutes and not a night.

#include <fmt/format.h>

#include <algorithm>

#include "core/robust_window.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::uint64_t k_records = 10;
constexpr double k_rise = 2.5;
/// A loss that climbs nearly without a pause needs no such factor (judgement: a quarter in ten steps).
constexpr double k_steady_rise = 1.25;
constexpr std::uint64_t k_climbs = 8;  // of nine steps from one record to the next
constexpr double k_norm_low = 0.1;     // the bf16 stability checklist: 0.1 to 10 in the first steps
constexpr double k_norm_high = 10.0;
/// Between these losses a gradient norm has the unit that the range is meant for: a mean over tokens
/// or samples, of a model that has something to learn.
constexpr double k_loss_low = 0.5;
constexpr double k_loss_high = 20.0;

const detectors::DetectorSpec& gate_first_ten_spec() {
  static const detectors::DetectorSpec spec{
      "gate.first_ten",
      {"gate.first_ten"},
      "The first ten records: finite, not 0, no jump, gradient norm in range",
      "Most broken runs are broken in their first steps; there they cost nothing yet.",
      "loss 2.35, 2.30, ... with grad_norm 0.8, 0.75, ... passes",
      {record::Role::loss, record::Role::grad_norm, record::Role::loss_scale},
      {{"norm_low", k_norm_low, "", 0, 10, "the bf16 stability checklist: grad_norm 0.1 to 10"},
       {"norm_high", k_norm_high, "", 0.1, 1e6,
        "the bf16 stability checklist: grad_norm 0.1 to 10"},
       {"rise", k_rise, "x", 1.1, 100,
        "the bf16 stability checklist: falling or stable; the median of three against that of the "
        "first three"}},
      {}};
  return spec;
}

class GateFirstTenDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return gate_first_ten_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (done_) return;
    const detectors::Reading* loss = reading_of(frame, record::Role::loss);
    const detectors::Reading* norm = reading_of(frame, record::Role::grad_norm);
    if (loss == nullptr && norm == nullptr) return;
    if (records_ == 0) {
      first_ = sample_of(frame, loss != nullptr ? *loss : *norm);
      // A log that begins at step 40000 shows other steps than the first.
      const std::int64_t interval = context.log_steps.value_or(50);
      if (context.counts_steps() && frame.step > 2 * std::max<std::int64_t>(interval, 10))
        done_ = true;
      if (done_) return;
    }
    last_ = sample_of(frame, loss != nullptr ? *loss : *norm);
    if (loss != nullptr) see_loss(loss->value);
    if (norm != nullptr) see_norm(norm->value);
    if (const detectors::Reading* scale = reading_of(frame, record::Role::loss_scale))
      see_scale(scale->value);
    if (++records_ == k_records) conclude(context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (!done_ && records_ >= 2) conclude(context, out);
  }

 private:
  void see_loss(double value) {
    if (!std::isfinite(value)) {
      ++bad_losses_;
      return;
    }
    zeros_ += value == 0 ? 1 : 0;
    if (!tail_.empty() && value > before_) ++climbs_;
    before_ = value;
    if (!head_.full()) head_.push(value);
    tail_.push(value);
  }

  void see_norm(double value) {
    if (!std::isfinite(value)) {
      ++bad_norms_;
      if (!norms_.empty()) ++lost_norms_;
      return;
    }
    lost_norms_ = 0;
    norms_.push(value);
  }

  void see_scale(double value) {
    if (first_scale_ == 0) first_scale_ = value;
    scale_ = value;
  }

  /// fp16's loss scaling finds its scale by overflowing in the first steps: halved each time, and
  /// with room to go on.
  bool looks_for_its_scale() const { return scale_ < first_scale_ && scale_ >= k_least_scale; }

  bool has_lost_norms() const {
    return bad_norms_ * 2 > norms_.size() + bad_norms_ || lost_norms_ >= k_lost;
  }

  bool rises() const {
    if (!tail_.full() || records_ < 6 || !(head_.median() > 0)) return false;
    const double ratio = tail_.median() / head_.median();
    return ratio > k_rise || (ratio > k_steady_rise && climbs_ >= k_climbs);
  }

  void conclude(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    done_ = true;
    std::vector<std::string> reasons;
    if (bad_losses_ > 0) reasons.push_back(fmt::format("{} non-finite losses", bad_losses_));
    if (zeros_ > 0 && !context.reinforcement)
      reasons.push_back(fmt::format("{} losses of exactly 0", zeros_));
    if (rises() && !context.reinforcement) reasons.push_back("the loss rises");
    if (has_lost_norms() && !looks_for_its_scale()) reasons.push_back("grad_norm is not finite");
    const double norm = norms_.median();
    const bool in_range = norms_.empty() || (norm >= k_norm_low && norm <= k_norm_high);
    const bool norm_fails = !in_range && !context.reinforcement && of_its_unit(norm);
    if (norm_fails) {
      reasons.push_back(fmt::format("grad_norm {} is outside 0.1 to 10", core::show_number(norm)));
    }
    const bool passed = reasons.empty();
    detectors::Symptom symptom;
    symptom.id = "gate.first_ten";
    symptom.severity = passed ? core::Severity::note : core::Severity::warning;
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.series = "loss";
    symptom.measures["passed"] = passed;
    symptom.measures["records"] = static_cast<double>(records_);
    symptom.measures["norm_in_range"] = in_range;
    symptom.measures["lost_norms"] = static_cast<double>(bad_norms_);
    if (!norms_.empty()) symptom.measures["grad_norm"] = norm;
    std::string text;
    for (const std::string& reason : reasons) text += (text.empty() ? "" : ", ") + reason;
    symptom.measures["reasons"] = text;
    symptom.summary =
        fmt::format("the first {} records {}", records_, passed ? "pass" : "do not pass: " + text);
    if (passed && bad_norms_ > 0)
      symptom.summary +=
          fmt::format("; grad_norm has no value in {} of them, as where a loss scale is looked for",
                      bad_norms_);
    if (!in_range && !norm_fails)
      symptom.summary +=
          fmt::format("; grad_norm {} is outside 0.1 to 10", core::show_number(norm));
    symptom.summary += unusual_start(context);
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  /// Nothing says that something else than text is trained.
  static bool may_be_text(const detectors::RunContext& context) {
    return context.task.kind == task::Kind::unknown || context.task.kind == task::Kind::causal_lm;
  }

  /// ln of a vocabulary of 8,000 to 260,000 tokens is the loss of a guess among them.
  std::string unusual_start(const detectors::RunContext& context) const {
    constexpr double k_guess_low = 9, k_guess_high = 12.5;
    // A third of what a trained language model starts at; judgement.
    constexpr double k_low = 0.5;
    const double start = head_.empty() ? 0 : head_.median();
    if (context.reinforcement || head_.empty()) return {};
    if (start > 0 && start < k_low && may_be_text(context))
      return fmt::format(
          "; the loss starts at {}: if it is that of a language model in nats a token, one that "
          "was "
          "trained before starts between 1.5 and 3.0, so look which tokens count and whether it "
          "has "
          "seen these data",
          core::show_number(start));
    if (start < k_guess_low || start > k_guess_high) return {};
    return fmt::format(
        "; the loss starts at {}, as a language model that knows nothing: one that was trained "
        "before starts between 1.5 and 3.0",
        core::show_number(start));
  }

  /// A norm of exactly 0 has causes and a symptom of its own.
  bool of_its_unit(double norm) const {
    const double loss = head_.median();
    return norm > 0 && norms_.size() >= k_least_norms && !head_.empty() && loss >= k_loss_low &&
           loss <= k_loss_high;
  }

  static constexpr std::uint64_t k_lost = 2;  // in a row, to the end: fp16's scale is found by then
  static constexpr std::size_t k_least_norms = 5;
  static constexpr double k_least_scale = 1;  // below it no product is kept from underflow
  double first_scale_ = 0;
  double scale_ = 0;
  bool done_ = false;
  std::uint64_t records_ = 0;
  std::uint64_t bad_losses_ = 0;
  std::uint64_t bad_norms_ = 0;
  std::uint64_t lost_norms_ = 0;  ///< not finite, since the last that was
  std::uint64_t zeros_ = 0;
  std::uint64_t climbs_ = 0;  ///< losses above the one before
  double before_ = 0;
  core::SortedWindow<3> head_;
  core::SortedWindow<3> tail_;
  core::SortedWindow<16> norms_;
  detectors::Sample first_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_gate_first_ten_detector() {
  return std::make_unique<GateFirstTenDetector>();
}

}  // namespace aplomb::run_detectors
