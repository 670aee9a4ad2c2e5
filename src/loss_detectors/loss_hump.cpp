/// A training loss that leaps to several times its first value and comes back before the run ends.
/// Where it ends nothing is wrong any more, so what judges endings is silent; but a sound run falls
/// from its first record on, and what was learned in the first part was thrown away.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/median.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

// Held against real runs: none of the 148 of the corpus that train well, and no healthy run trained
// for the purpose, has such a hump (docs/accuracy.md).
constexpr double k_peak = 5.0;
constexpr double k_above = 2.0;
constexpr std::size_t k_long = 3;  // records above: fewer are a spike
constexpr double k_back = 1.5;     // x the first record: what ends higher has diverged
constexpr std::size_t k_most = 4096;
constexpr std::size_t k_least = 10;
constexpr std::size_t k_tenth = 10;

const detectors::DetectorSpec& loss_hump_spec() {
  static const detectors::DetectorSpec spec{
      "loss.hump",
      {"loss.hump"},
      "The loss leaps to several times its first value and comes back later",
      "Steps that are too large throw the weights far away; when the schedule lowers them the run "
      "begins anew from there, and ends worse than it would have.",
      "loss 4.7, 16, 73, 212, 60, 9, 2.8",
      {record::Role::loss},
      {{"peak", k_peak, "times the first", 2, 100, "no corpus run that trains well reaches it"},
       {"above", k_above, "times the first", 1, 100, "a record below it may be noise"},
       {"long", static_cast<double>(k_long), "records", 1, 1000, "fewer are a spike"}},
      {"https://arxiv.org/abs/2309.14322"},
      true};
  return spec;
}

class LossHumpDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_hump_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr || samples_.size() >= k_most) return;
    samples_.push_back(sample_of(frame, *loss));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || samples_.size() < k_least) return;
    const double first = samples_.front().value;
    if (!(first > 0)) return;
    const auto peak = std::max_element(
        samples_.begin(), samples_.end(),
        [](const detectors::Sample& a, const detectors::Sample& b) { return a.value < b.value; });
    const auto above =
        std::count_if(samples_.begin(), samples_.end(),
                      [&](const detectors::Sample& each) { return each.value >= k_above * first; });
    if (peak->value < k_peak * first || above < static_cast<std::ptrdiff_t>(k_long)) return;
    if (end_level() > k_back * first) return;
    detectors::Symptom symptom;
    symptom.id = "loss.hump";
    symptom.severity = core::Severity::unstable;
    symptom.first_step = samples_.front().step;
    symptom.last_step = peak->step;
    symptom.series = "loss";
    symptom.measures["peak"] = peak->value;
    symptom.measures["ratio"] = peak->value / first;
    symptom.measures["share"] = static_cast<double>(above) / static_cast<double>(samples_.size());
    symptom.summary = fmt::format("loss leaps from {} to {} ({}) before it falls ({:.0f}x)",
                                  core::show_number(first), core::show_number(peak->value),
                                  at_step(context, peak->step), peak->value / first);
    add_evidence(symptom, samples_.front().origin);
    add_evidence(symptom, peak->origin);
    out.push_back(std::move(symptom));
  }

 private:
  /// Median of the last tenth, at least three records.
  double end_level() const {
    std::vector<double> last;
    const std::size_t count = std::max<std::size_t>(k_long, samples_.size() / k_tenth);
    for (std::size_t i = samples_.size() - count; i < samples_.size(); ++i)
      last.push_back(samples_[i].value);
    return core::upper_median(std::move(last));
  }

  std::vector<detectors::Sample>
      samples_;  ///< a hump that comes after k_most records is divergence's matter
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_hump_detector() {
  return std::make_unique<LossHumpDetector>();
}

}  // namespace aplomb::loss_detectors
