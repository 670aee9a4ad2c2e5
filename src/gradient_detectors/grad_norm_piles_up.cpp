/// A gradient norm that grows and next to never falls: gradients that are added up over the steps
/// because nobody sets them to zero. A norm of single batches goes up and down by half its size.

#include <fmt/format.h>

#include <map>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_least = 12;
constexpr double k_growth = 10;    // x over the run
constexpr double k_fall = 0.9;     // of the record before: a fall
constexpr double k_falls = 0.08;   // share of records that fall
constexpr double k_still = 0.02;   // change from record to record that is next to none
constexpr double k_stills = 0.15;  // share of them: single gradients are small beside the sum
constexpr std::size_t k_most_series = 16;
constexpr double k_grown_midway =
    2;  // x the first: n like gradients grow to the root of n at least

const detectors::DetectorSpec& grad_norm_piles_up_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.piles_up",
      {"grad_norm.piles_up"},
      "The gradient norm grows and next to never falls",
      "Gradients of all steps add up where they are not set to zero; the update then is the sum of "
      "all that was.",
      "|g_enc| 0.03, 0.7, 1.0, 1.4, 62, 88, 169, 169, 172, 172, 1257, 1257",
      {record::Role::grad_norm},
      {{"growth", k_growth, "x", 2, 1e6,
        "a sum of n like gradients grows with the root of n at least"},
       {"falls", k_falls, "fraction", 0, 0.5,
        "benchmark here: norms of single batches fall in four of ten records"},
       {"stills", k_stills, "fraction", 0, 1, "one gradient changes a sum of fifty by a fiftieth"}},
      {"https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html"},
      false,
      {task::Part::grad_part}};
  return spec;
}

class GradNormPilesUpDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_piles_up_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) {
      const bool norm =
          reading.role == record::Role::grad_norm || reading.part == task::Part::grad_part;
      if (!norm || !std::isfinite(reading.value) || reading.value < 0) continue;
      if (norms_.count(reading.series) == 0 && norms_.size() >= k_most_series) continue;
      norms_[reading.series].add(sample_of(frame, reading));
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    for (const auto& [series, norms] : norms_) {
      if (!piles_up(norms)) continue;
      out.push_back(symptom_of(context.series_names[series], norms));
      return;  // one is enough to know
    }
  }

 private:
  static bool piles_up(const detectors::Kept& norms) {
    if (norms.count() < k_least || norms.thinned()) return false;
    const double first = norms.median(0, 0.15);
    if (!(first > 0) || norms.back().value < k_growth * first) return false;
    // A sum grows from the first steps on; what stays for half of the run and then grows is none.
    if (norms.median(0.4, 0.6) < k_grown_midway * first) return false;
    detectors::Tally falls;
    detectors::Tally stills;
    for (std::size_t i = 1; i < norms.size(); ++i) {
      const double before = norms[i - 1].value;
      falls.add(norms[i].value < k_fall * before);
      stills.add(std::fabs(norms[i].value - before) <= k_still * before);
    }
    return falls.share() <= k_falls && stills.share() >= k_stills;
  }

  static detectors::Symptom symptom_of(const std::string& name, const detectors::Kept& norms) {
    detectors::Symptom symptom;
    symptom.id = "grad_norm.piles_up";
    symptom.severity = core::Severity::warning;
    symptom.series = name;
    symptom.first_step = norms.front().step;
    symptom.last_step = norms.back().step;
    symptom.measures["growth"] = norms.back().value / norms.median(0, 0.15);
    symptom.summary = fmt::format(
        "{} grows from {} to {} and next to never falls: a sum over steps", name,
        core::show_number(norms.median(0, 0.15)), core::show_number(norms.back().value));
    add_evidence(symptom, norms.front().origin);
    add_evidence(symptom, norms.back().origin);
    return symptom;
  }

  std::map<std::uint32_t, detectors::Kept> norms_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_piles_up_detector() {
  return std::make_unique<GradNormPilesUpDetector>();
}

}  // namespace aplomb::gradient_detectors
