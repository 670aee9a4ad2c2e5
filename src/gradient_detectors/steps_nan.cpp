/// Iterations whose loss was not finite, as a trainer counts them (Megatron-LM leaves them out of the
/// mean that it prints, so that the loss itself shows none).

#include <fmt/format.h>

#include "detectors/support.h"
#include "gradient_detectors/step_count.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_often = 0.05;  // of the steps: "a single batch every few thousand" is stray
constexpr double k_rising = 0.75;
constexpr double k_least_rising = 10;

const detectors::DetectorSpec& steps_nan_spec() {
  static const detectors::DetectorSpec spec{
      "steps.nan",
      {"steps.nan"},
      "Iterations without a finite loss, as the trainer counts them",
      "The printed loss is a mean of the others: only the count tells that steps are lost.",
      "number of nan iterations:   3 |",
      {record::Role::nan_count},
      {{"often", k_often, "fraction", 0.001, 1,
        "the precision and stability notes P14: stray batches come every few thousand steps"},
       {"rising", k_rising, "fraction", 0.5, 1,
        "of all in the second half; P14: a rising share is systematic, not stray data"}},
      {"https://github.com/NVIDIA/Megatron-LM"}};
  return spec;
}

class StepsNanDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return steps_nan_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* count = finite_of(frame, record::Role::nan_count))
      count_.add(sample_of(frame, *count), is_of_interval(series_name(context, *count, "")));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    const double lost = count_.lost();
    if (count_.records() < 2 || lost < 1) return;
    const double share = std::min(1.0, lost / count_.steps());
    const double later = count_.share_of_later_half();
    const bool rising = later > k_rising && lost >= k_least_rising;
    detectors::Symptom symptom;
    symptom.id = "steps.nan";
    symptom.severity =
        rising || share > k_often ? core::Severity::unstable : core::Severity::warning;
    symptom.series = "nan_count";
    symptom.first_step = count_.first_lost().step;
    symptom.last_step = count_.last().step;
    symptom.measures["count"] = lost;
    symptom.measures["share"] = share;
    symptom.measures["rising"] = rising;
    symptom.summary = fmt::format(
        "{} iteration{} had a loss that is not finite by {} ({}), the first at {}; {} of them in "
        "the second half",
        core::show_number(lost, 7), lost == 1 ? "" : "s", at_step(context, count_.last().step),
        detectors::percent(share), at_step(context, symptom.first_step), detectors::percent(later));
    add_evidence(symptom, count_.first_lost().origin);
    add_evidence(symptom, count_.last().origin);
    out.push_back(std::move(symptom));
  }

 private:
  StepCount count_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_steps_nan_detector() {
  return std::make_unique<StepsNanDetector>();
}

}  // namespace aplomb::gradient_detectors
