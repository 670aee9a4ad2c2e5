/// The history of fp16 dynamic loss scaling. PyTorch's GradScaler halves the scale at each overflow
/// (and skips that step) and doubles it after 2000 steps without one: a few halvings at the start
/// find the right scale, later ones again and again mean that gradients overflow, and a scale that
/// falls to 1 means that they always do.

#include <fmt/format.h>

#include <algorithm>

#include "core/training_limits.h"
#include "detectors/support.h"
#include "gradient_detectors/step_count.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::uint64_t k_initial_least =
    20;  // records (or steps): 65536 is halved 16 times to reach 1
constexpr double k_skipping =
    0.05;  // 2000-step growth would give 1 in 2000; one in twenty is a hundred times it
constexpr double k_least_skips = 3;
constexpr double k_rising = 0.75;  // of all skips in the second half: three times as many as before
constexpr double k_grown =
    0.01;  // twenty times the growth interval's share, where it rises (judgement)
constexpr double k_least_rising = 10;
/// Halvings without a pause, ending below 1: four skipped steps in a row with a scale that shrinks
/// gradients instead of lifting them. The log may begin after the scale was one.
constexpr std::uint64_t k_in_a_row = 4;

const detectors::DetectorSpec& loss_scale_spec() {
  static const detectors::DetectorSpec spec{
      "loss_scale",
      {"loss_scale.calibration", "loss_scale.persistent_skipping", "loss_scale.collapse",
       "steps.skipped"},
      "fp16 loss scaling: calibrating, skipping steps again and again, or collapsed; and steps "
      "that "
      "are left out where nothing is scaled",
      "Every halving is a skipped optimizer step; a collapsed scale leaves gradients to underflow "
      "and means that the "
      "forward pass itself overflows.",
      "loss_scale 65536, 32768, ... 2, 1",
      {record::Role::loss_scale, record::Role::skipped_steps},
      {{"skipping", k_skipping, "fraction", 0.001, 1,
        "growth interval 2000: one overflow in 2000 steps is normal"},
       {"collapsed", core::k_least_loss_scale, "", 0, 128,
        "min_loss_scale of DeepSpeed and apex: 1"},
       {"rising", k_rising, "fraction", 0.5, 1,
        "the precision and stability notes P14: a rising share is systematic, not stray data"}},
      {"https://docs.pytorch.org/docs/stable/amp.html", "https://arxiv.org/abs/1710.03740"}};
  return spec;
}

class LossScaleDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_scale_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* skipped = finite_of(frame, record::Role::skipped_steps))
      skips_.add(sample_of(frame, *skipped), is_of_interval(series_name(context, *skipped, "")));
    const detectors::Reading* scale = finite_of(frame, record::Role::loss_scale);
    if (scale == nullptr || scale->value < 0) return;
    const detectors::Sample sample = sample_of(frame, *scale);
    if (count_++ == 0) {
      first_ = sample;
    } else if (sample.value < last_.value) {
      ++drops_;
      ++in_a_row_;
      last_drop_ = sample;
      if (drops_ == 1) first_drop_ = sample;
      if (count_ > k_initial_least) ++late_drops_;
    } else {
      in_a_row_ = 0;
    }
    peak_ = std::max(peak_, sample.value);
    last_ = sample;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report_skipped(context, out);
    if (count_ < 2 || drops_ == 0) return;
    const auto late = static_cast<double>(count_) - static_cast<double>(k_initial_least);
    const double share = late > 0 ? static_cast<double>(late_drops_) / late : 0;
    const bool came_down =
        peak_ >= core::k_had_loss_scale && last_.value <= core::k_least_loss_scale;
    const bool still_falls = in_a_row_ >= k_in_a_row && last_.value < core::k_least_loss_scale;
    if (came_down || still_falls) {
      detectors::Symptom symptom = about("loss_scale.collapse", core::Severity::failed);
      symptom.measures["last"] = last_.value;
      symptom.measures["peak"] = peak_;
      symptom.summary = fmt::format("loss scale falls {} -> {} by {}: every step overflows",
                                    core::show_number(peak_, 7), core::show_number(last_.value),
                                    at_step(context, last_.step));
      out.push_back(std::move(symptom));
    } else if (late_drops_ >= 3 && share > k_skipping) {
      detectors::Symptom symptom =
          about("loss_scale.persistent_skipping", core::Severity::unstable);
      symptom.measures["share"] = share;
      symptom.measures["count"] = static_cast<double>(drops_);
      symptom.measures["last"] = last_.value;
      symptom.summary = fmt::format(
          "loss scale is halved in {} of {} records after calibration: steps are skipped "
          "again and again",
          late_drops_, count_ - k_initial_least);
      out.push_back(std::move(symptom));
    } else if (drops_ > late_drops_) {
      detectors::Symptom symptom = about("loss_scale.calibration", core::Severity::note);
      symptom.measures["drops"] = static_cast<double>(drops_);
      symptom.measures["last"] = last_.value;
      symptom.summary =
          fmt::format("loss scale settles at {} after {} halvings: normal calibration",
                      core::show_number(last_.value, 7), drops_);
      out.push_back(std::move(symptom));
    }
  }

 private:
  void report_skipped(const detectors::RunContext& context,
                      std::vector<detectors::Symptom>& out) const {
    if (skips_.records() < 2) return;
    // Calibration may skip a score of steps at the start; without a scale there is none.
    const bool scaled = peak_ > 1;
    const double skipped = skips_.lost();
    const double allowed = scaled ? static_cast<double>(k_initial_least) : 0;
    const double share = std::min(1.0, (skipped - allowed) / skips_.steps());
    const double later = skips_.share_of_later_half();
    const bool grows = later > k_rising && skipped - allowed >= k_least_rising && share > k_grown;
    if ((share <= k_skipping && !grows) || skipped < k_least_skips) return;
    detectors::Symptom symptom = about(scaled ? "loss_scale.persistent_skipping" : "steps.skipped",
                                       core::Severity::unstable);
    symptom.first_step = skips_.first().step;
    symptom.last_step = skips_.last().step;
    symptom.measures["share"] = share;
    symptom.measures["count"] = skipped;
    symptom.summary = fmt::format(
        "{} optimizer steps were skipped by {} ({}), {} of them in the "
        "second half",
        core::show_number(skipped, 7), at_step(context, skips_.last().step),
        detectors::percent(share), detectors::percent(later));
    if (!scaled) symptom.measures["rising"] = later > k_rising;
    symptom.evidence = {skips_.last().origin};
    out.push_back(std::move(symptom));
  }

  detectors::Symptom about(std::string id, core::Severity severity) const {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "loss_scale";
    symptom.first_step = drops_ > 0 ? first_drop_.step : first_.step;
    symptom.last_step = last_.step;
    add_evidence(symptom, first_.origin);
    if (drops_ > 0) add_evidence(symptom, first_drop_.origin);
    if (drops_ > 1) add_evidence(symptom, last_drop_.origin);
    return symptom;
  }

  std::uint64_t count_ = 0;
  std::uint64_t drops_ = 0;
  std::uint64_t late_drops_ = 0;
  std::uint64_t in_a_row_ = 0;
  double peak_ = 0;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample first_drop_;
  detectors::Sample last_drop_;
  StepCount skips_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_scale_detector() {
  return std::make_unique<LossScaleDetector>();
}

}  // namespace aplomb::gradient_detectors
