/// Loss spikes, and whether the gradient norm gave warning before them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/training_limits.h"
#include "detectors/fresh_start.h"
#include "detectors/rise_watch.h"
#include "detectors/spike_finder.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_large = 10.0;  // Megatron-LM's rerun machine calls 10x the usual maximum a fault
constexpr double k_not_back = 3.0;  // Lightning's SpikeDetection asks for 3x the mean
constexpr std::int64_t k_lead_window = 50;
constexpr double k_most_sigma = 1000;  // beyond it the noise was next to nothing: no number says it

const detectors::DetectorSpec& loss_spike_spec() {
  static const detectors::DetectorSpec spec{
      "loss.spike",
      {"loss.spike"},
      "The loss jumps out of its own noise and comes back, or ends on high",
      "A spike costs the progress of many steps, and repeated spikes announce a divergence.",
      "loss 2.1, 2.1, 9.8, 2.2 with grad_norm 0.4, 3.1, 44, 0.6",
      {record::Role::loss, record::Role::grad_norm},
      {{"least_ratio", core::k_spike_ratio, "x", 1, 100,
        "axolotl's training stability guide: spikes are 2x to 10x"},
       {"large", k_large, "x", 2, 1e6,
        "Megatron-LM rerun_state_machine: 10x the maximum of 100 is a fault"},
       {"sustained", static_cast<double>(core::k_sustained_run), "samples", 2, 100,
        "longer than a single bad batch"}},
      {"https://arxiv.org/abs/2309.14322", "https://arxiv.org/abs/2504.02507"},
      true};
  return spec;
}

class LossSpikeDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_spike_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      if (fresh_.update(frame.segment, loss->value)) {
        finish(context, out);
        finder_ =
            detectors::SpikeFinder{detectors::SpikeFinder::Scale::linear, core::k_spike_ratio};
        told_ = false;
      }
      if (finder_.add(sample_of(frame, *loss))) {
        // A gradient norm of the same step is not ahead; asked before it enters.
        const detectors::Rise rise = grad_.now();
        if (rise.rising && !rise.slow && frame.step - rise.since <= k_lead_window)
          finder_.opened()->warned_at = rise.since;
        report(context, out);
      } else if (std::has_single_bit(finder_.count())) {
        report(context, out);  // what few samples could not tell, twice as many may
      }
    }
    if (norm != nullptr) grad_.add(frame.step, norm->value);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    const std::size_t before = out.size();
    report(context, out);
    // Told live, but by now within the run's own heavy-tailed noise.
    if (out.size() == before && told_) out.push_back(detectors::withdrawal("loss.spike", "loss"));
  }

 private:
  static core::Severity severity_of(const std::vector<detectors::Spike>& spikes, double worst,
                                    const detectors::RunContext& context) {
    if (context.reinforcement) return core::Severity::note;
    const auto sustained = std::count_if(
        spikes.begin(), spikes.end(),
        [](const detectors::Spike& spike) { return spike.length >= core::k_sustained_run; });
    const bool ends_on_high = !spikes.back().recovered && spikes.back().ratio() >= k_not_back;
    const bool large = std::any_of(spikes.begin(), spikes.end(), [](const detectors::Spike& spike) {
      return spike.ratio() >= k_large && spike.length >= 2;
    });
    if (ends_on_high || large || (sustained >= 2 && worst >= 2) || spikes.size() >= 10)
      return core::Severity::unstable;
    return core::Severity::warning;
  }

  void report(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const std::vector<detectors::Spike> spikes = finder_.spikes();
    if (spikes.empty()) return;
    told_ = true;
    const detectors::Spike& worst = *std::max_element(
        spikes.begin(), spikes.end(),
        [](const detectors::Spike& a, const detectors::Spike& b) { return a.z < b.z; });
    detectors::Symptom symptom;
    symptom.id = "loss.spike";
    symptom.series = "loss";
    symptom.severity = severity_of(spikes, worst.ratio(), context);
    symptom.first_step = spikes.front().first_step;
    symptom.last_step = spikes.back().last_step;
    auto& measures = symptom.measures;
    measures["ratio"] = worst.ratio();
    measures["sigma"] = std::min(worst.z, k_most_sigma);
    measures["count"] = static_cast<double>(spikes.size());
    measures["step"] = static_cast<double>(worst.first_step);
    measures["length"] = static_cast<double>(worst.length);
    measures["recovers"] =
        std::all_of(spikes.begin(), spikes.end(),
                    [](const detectors::Spike& spike) { return spike.recovered; });
    measures["at_start"] = spikes.front().id < 0;
    const auto warned = std::find_if(spikes.begin(), spikes.end(), [](const detectors::Spike& s) {
      return s.warned_at.has_value();
    });
    measures["warned"] = warned != spikes.end();
    if (warned != spikes.end())
      measures["lead_steps"] = static_cast<double>(warned->first_step - *warned->warned_at);
    symptom.summary =
        fmt::format("loss jumps {} -> {} at {} ({}{} sigma)", core::show_number(worst.level),
                    core::show_number(worst.peak.value), at_step(context, worst.peak.step),
                    worst.z > k_most_sigma ? "more than " : "",
                    core::show_number(std::min(worst.z, k_most_sigma), 2));
    if (spikes.size() > 1) symptom.summary += fmt::format(", {} spikes in all", spikes.size());
    if (warned != spikes.end())
      symptom.summary += fmt::format("; grad_norm rose {} {}s before",
                                     warned->first_step - *warned->warned_at, context.step_word());
    add_evidence(symptom, worst.before.origin);
    for (const detectors::Spike& spike : spikes) add_evidence(symptom, spike.peak.origin);
    out.push_back(std::move(symptom));
  }

  detectors::SpikeFinder finder_{detectors::SpikeFinder::Scale::linear, core::k_spike_ratio};
  detectors::RiseWatch grad_;
  detectors::FreshStart fresh_;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_spike_detector() {
  return std::make_unique<LossSpikeDetector>();
}

}  // namespace aplomb::loss_detectors
