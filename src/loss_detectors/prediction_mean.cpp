/// A regression that predicts the mean of its targets whatever it is shown: an R^2 that stays at 0,
/// predictions without a spread.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 5;
constexpr double k_nothing = 0.1;  // of the variance
constexpr double k_narrow = 0.1;   // of the targets' spread

const detectors::DetectorSpec& prediction_mean_spec() {
  static const detectors::DetectorSpec spec{
      "prediction.mean",
      {"prediction.mean"},
      "The regression predicts one value for every input",
      "An error at the variance of the targets is that of knowing nothing.",
      "r2 0.025, 0.034, 0.010, ... 0.021 over 40 epochs",
      {},
      {{"nothing", k_nothing, "fraction", 0, 0.5,
        "R^2 is the share of the variance that is explained; features of any use give more"},
       {"narrow", k_narrow, "fraction", 0, 0.5, "R^2 is at most about the square of it"}},
      {},
      false,
      {task::Part::explained_variance, task::Part::prediction_std, task::Part::target_std}};
  return spec;
}

class PredictionMeanDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return prediction_mean_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, task::Part::explained_variance, explained_);
    add_finite(frame, task::Part::prediction_std, spread_);
    add_finite(frame, task::Part::target_std, targets_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    // A critic explains nothing at first, and little of returns that are noise.
    if (context.reinforcement || context.task.kind == task::Kind::policy) return;
    const bool none = explained_.count() >= k_least && stays_at_nothing();
    const bool narrow = spread_.count() >= k_least && targets_.count() > 0 &&
                        spread_.median(0.5, 1) < k_narrow * targets_.median(0, 1);
    if (!none && !narrow) return;
    const detectors::Kept& seen = none ? explained_ : spread_;
    detectors::Symptom symptom;
    symptom.id = "prediction.mean";
    symptom.severity = core::Severity::warning;
    symptom.series = none ? "r2" : "pred_std";
    symptom.first_step = seen.front().step;
    symptom.last_step = seen.back().step;
    if (none) symptom.measures["explained"] = explained_.median(0.5, 1);
    if (spread_.count() > 0) {
      symptom.measures["spread_falls"] = spread_.median(0.75, 1) < 0.8 * spread_.median(0, 0.25);
      symptom.measures["spread"] = spread_.back().value;
    }
    symptom.summary =
        none ? fmt::format("R^2 stays at {}: nothing of the targets' variance is explained",
                           core::show_number(explained_.median(0.5, 1), 2))
             : fmt::format("predictions spread by {}, the targets by {}",
                           core::show_number(spread_.back().value),
                           core::show_number(targets_.back().value));
    add_evidence(symptom, seen.front().origin);
    add_evidence(symptom, seen.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  bool stays_at_nothing() const {
    return std::all_of(explained_.samples().begin(), explained_.samples().end(),
                       [](const detectors::Sample& each) { return each.value < k_nothing; }) &&
           std::fabs(explained_.median(0.5, 1)) < k_nothing;
  }

  detectors::Kept explained_;
  detectors::Kept spread_;
  detectors::Kept targets_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_prediction_mean_detector() {
  return std::make_unique<PredictionMeanDetector>();
}

}  // namespace aplomb::loss_detectors
