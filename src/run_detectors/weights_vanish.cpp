/// Sizes of weights that the program logs (a norm of all, of an embedding, `|user|`) and that fall to nothing while
/// training goes on: weight decay or a penalty is stronger than what the data teach.

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "detectors/kept.h"
#include "detectors/support.h"
#include "task/metric_words.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::uint64_t k_least_records = 5;
/// Of its first value. What is learnt may be smaller than what was drawn at random; two orders of magnitude are nothing
/// of either.
constexpr double k_vanished = 0.01;

const detectors::DetectorSpec& weights_vanish_spec() {
  static const detectors::DetectorSpec spec{
      "weights.vanish",
      {"weights.vanish"},
      "The logged size of weights falls to nothing",
      "Weights that shrink to 0 hold nothing of the data: decay is stronger than the gradient.",
      "|user| 0.2245, 0.0820, 0.0305, 0.0114, ... 0.0000",
      {record::Role::param_norm},
      {{"vanished", k_vanished, "fraction", 0, 0.5,
        "judgement: sound training changes norms of weights by factors of a few"}},
      {"https://arxiv.org/abs/1711.05101"},
      false,
      {task::Part::weight_size}};
  return spec;
}

class WeightsVanishDetector final : public detectors::Detector {
 public:
  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) {
      const bool size =
          reading.role == record::Role::param_norm || reading.part == task::Part::weight_size;
      if (!size || !std::isfinite(reading.value) || reading.value < 0) continue;
      if (sizes_.size() < k_most_series || sizes_.count(reading.series) > 0)
        sizes_[reading.series].add(sample_of(frame, reading));
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    for (const auto& [series, size] : sizes_) {
      if (size.count() < k_least_records || !falls_to_nothing(size)) continue;
      out.push_back(symptom(context.series_names[series], size));
      return;  // one tells it
    }
  }

  const detectors::DetectorSpec& spec() const override { return weights_vanish_spec(); }

 private:
  static constexpr std::size_t k_most_series = 64;

  /// From the middle of the run on, and at its end.
  static bool falls_to_nothing(const detectors::Kept& size) {
    const double nothing = k_vanished * size.front().value;
    return nothing > 0 && size.back().value <= nothing && size.median(0.5, 1) <= nothing;
  }

  static detectors::Symptom symptom(const std::string& name, const detectors::Kept& size) {
    detectors::Symptom symptom;
    symptom.id = "weights.vanish";
    symptom.severity = core::Severity::warning;
    symptom.series = name;
    symptom.first_step = size.front().step;
    symptom.last_step = size.back().step;
    symptom.measures["first"] = size.front().value;
    symptom.measures["last"] = size.back().value;
    symptom.summary = fmt::format(
        "the size of weights, {}, falls {} -> {}: hardly anything is left of them", name,
        core::show_number(size.front().value), core::show_number(size.back().value));
    add_evidence(symptom, size.front().origin);
    add_evidence(symptom, size.back().origin);
    return symptom;
  }

  std::map<std::size_t, detectors::Kept> sizes_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_weights_vanish_detector() {
  return std::make_unique<WeightsVanishDetector>();
}

}  // namespace aplomb::run_detectors
