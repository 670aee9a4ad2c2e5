/// A gradient norm that grows and next to never falls: gradients that are added up over the steps
/// because nobody sets them to zero, over the whole run or from one reset to the next (zeroed once a
/// pass). A norm of single batches goes up and down by half its size.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_least = 12;
constexpr double k_growth = 10;     // x over the run
constexpr double k_fall = 0.9;      // of the record before: a fall
constexpr double k_one_jump = 0.8;  // judgement: of the growth, in logarithms
constexpr double k_falls = 0.08;    // share of records that fall
constexpr double k_still = 0.02;    // change from record to record that is next to none
constexpr double k_stills = 0.15;   // share of them: single gradients are small beside the sum
constexpr std::size_t k_most_series = 16;
constexpr double k_reset = 0.4;  // of the record before: where a climb ends and the next begins
/// Where every record is above the one before it, the climb needs no single still one.
constexpr std::size_t k_least_climb = 20;
/// Of its end, at half its length: a sum of n like gradients is at 0.5 to 0.7 there, a run that
/// diverges by a factor a record far below.
constexpr double k_even_midway = 0.35;
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
      const std::optional<Climb> climb = piles_up(norms);
      if (!climb) continue;
      out.push_back(symptom_of(context.series_names[series], norms, *climb));
      return;  // one is enough to know
    }
  }

 private:
  /// From `begin` to before `end`: one climb.
  struct Climb {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// The climb that shows it, where there is one.
  static std::optional<Climb> piles_up(const detectors::Kept& norms) {
    if (norms.count() < k_least || norms.thinned()) return std::nullopt;
    Climb climb;
    for (std::size_t i = 1; i <= norms.size(); ++i) {
      if (i < norms.size() && norms[i].value > k_reset * norms[i - 1].value) continue;
      climb.end = i;
      if (is_sum(norms, climb)) return climb;
      climb.begin = i;
    }
    const Climb whole{0, norms.size()};
    return is_sum(norms, whole) ? std::optional<Climb>(whole) : std::nullopt;
  }

  static double level(const detectors::Kept& norms, const Climb& climb, double from, double to) {
    const auto length = static_cast<double>(climb.end - climb.begin);
    const auto begin = static_cast<double>(climb.begin);
    const auto all = static_cast<double>(norms.size());
    return norms.median((begin + from * length) / all, (begin + to * length) / all);
  }

  /// A level, one jump, another level: a sum has as many steps as there are gradients.
  static bool is_one_jump(const detectors::Kept& norms, const Climb& climb) {
    double largest = 1;
    for (std::size_t i = climb.begin + 1; i < climb.end; ++i) {
      if (norms[i - 1].value > 0) largest = std::max(largest, norms[i].value / norms[i - 1].value);
    }
    const double growth = norms[climb.end - 1].value / level(norms, climb, 0, 0.15);
    return std::log(largest) > k_one_jump * std::log(growth);
  }

  static bool is_sum(const detectors::Kept& norms, const Climb& climb) {
    if (climb.end - climb.begin < k_least) return false;
    const double first = level(norms, climb, 0, 0.15);
    const double last = norms[climb.end - 1].value;
    const double midway = level(norms, climb, 0.4, 0.6);
    if (!(first > 0) || last < k_growth / 2 * first) return false;
    // A sum grows from the first steps on; what stays for half of the run and then grows is none.
    if (midway < k_grown_midway * first) return false;
    if (is_one_jump(norms, climb)) return false;
    detectors::Tally falls;
    detectors::Tally below;
    detectors::Tally stills;
    for (std::size_t i = climb.begin + 1; i < climb.end; ++i) {
      const double before = norms[i - 1].value;
      falls.add(norms[i].value < k_fall * before);
      below.add(norms[i].value < before);
      stills.add(std::fabs(norms[i].value - before) <= k_still * before);
    }
    const bool climbs = climb.end - climb.begin >= k_least_climb && below.share() == 0 &&
                        midway >= k_even_midway * last;
    // Between two falls norms of single batches rise as well: only an unbroken climb counts there.
    const bool whole = climb.begin == 0 && climb.end == norms.size();
    const bool grows = whole && last >= k_growth * first;
    return climbs || (grows && falls.share() <= k_falls && stills.share() >= k_stills);
  }

  static detectors::Symptom symptom_of(const std::string& name, const detectors::Kept& norms,
                                       const Climb& climb) {
    detectors::Symptom symptom;
    symptom.id = "grad_norm.piles_up";
    symptom.severity = core::Severity::warning;
    symptom.series = name;
    const detectors::Sample& last = norms[climb.end - 1];
    const double first = level(norms, climb, 0, 0.15);
    symptom.first_step = norms[climb.begin].step;
    symptom.last_step = last.step;
    symptom.measures["growth"] = last.value / first;
    symptom.summary =
        fmt::format("{} grows from {} to {} and next to never falls: a sum over steps", name,
                    core::show_number(first), core::show_number(last.value));
    add_evidence(symptom, norms[climb.begin].origin);
    add_evidence(symptom, last.origin);
    return symptom;
  }

  std::map<std::uint32_t, detectors::Kept> norms_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_piles_up_detector() {
  return std::make_unique<GradNormPilesUpDetector>();
}

}  // namespace aplomb::gradient_detectors
