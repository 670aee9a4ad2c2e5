/// Logits that grow over the run, where a program logs them: nothing holds their scale, and small
/// errors of 16-bit arithmetic, then an overflow, decide the loss.

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_grown = 3;  // x the first level
constexpr double k_attention = 50;
constexpr double k_output = 50;
constexpr std::size_t k_most_series = 1024;  // layers that a program logs

const detectors::DetectorSpec& logits_growth_spec() {
  static const detectors::DetectorSpec spec{
      "logits.growth",
      {"logits.output_grow", "logits.attention_grow"},
      "The largest logit of the output or of the attention grows over the run",
      "The softmax becomes one-hot, its gradient dies or explodes; fp16 overflows at 65504.",
      "logits/max 10, 15, 27, 74, 525",
      {},
      {{"grown", k_grown, "x", 1.5, 100,
        "benchmark here: of small models that train soundly they grow by less than 2"},
       {"attention", k_attention, "", 1, 1e6,
        "softmax of 50 is one-hot in fp32; arXiv:2309.14322 sees instability follow growth, long "
        "before 1e4"},
       {"output", k_output, "", 1, 1e6, "likewise: a z-loss holds log Z within a few units of 0"}},
      {"https://arxiv.org/abs/2309.14322", "https://arxiv.org/abs/2302.05442"},
      false,
      {task::Part::logit_max, task::Part::attention_logit}};
  return spec;
}

class LogitsGrowthDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return logits_growth_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) {
      if (!std::isfinite(reading.value)) continue;
      if (reading.part == task::Part::logit_max) add(frame, reading, output_);
      if (reading.part == task::Part::attention_logit) add(frame, reading, attention_);
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report(output_, {"logits.output_grow", "the largest output logit", k_output}, context, out);
    report(attention_, {"logits.attention_grow", "the largest attention logit", k_attention},
           context, out);
  }

 private:
  struct What {
    const char* id;
    const char* words;
    double limit;
  };

  /// One metric: a layer's, where a program logs several.
  struct Watch {
    detectors::Sample first, last;
    core::BlockSummary blocks;
    std::uint32_t series = 0;
  };
  using Watches = std::map<std::uint32_t, Watch>;

  static void add(const detectors::Frame& frame, const detectors::Reading& reading,
                  Watches& watches) {
    if (watches.size() >= k_most_series && watches.count(reading.series) == 0) return;
    Watch& watch = watches[reading.series];
    watch.last = sample_of(frame, reading);
    watch.series = reading.series;
    if (watch.blocks.count() == 0) watch.first = watch.last;
    watch.blocks.add(watch.last.step, watch.last.value);
  }

  /// The one that grows most speaks for all.
  static void report(const Watches& watches, const What& what, const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) {
    const Watch* worst = nullptr;
    double most = k_grown;
    std::size_t growing = 0;
    for (const auto& [series, watch] : watches) {
      const detectors::Curve curve = detectors::curve_of(watch.blocks);
      if (curve.size < 5 || !(curve.level[0] > 0) || curve.last < what.limit ||
          curve.last < k_grown * curve.level[0])
        continue;
      ++growing;
      if (curve.last / curve.level[0] < most) continue;
      most = curve.last / curve.level[0];
      worst = &watch;
    }
    if (worst != nullptr) tell(*worst, what, {growing, watches.size()}, context, out);
  }

  static void tell(const Watch& watch, const What& what, std::pair<std::size_t, std::size_t> of,
                   const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const detectors::Curve curve = detectors::curve_of(watch.blocks);
    const std::string name =
        watch.series < context.series_names.size() ? context.series_names[watch.series] : "";
    detectors::Symptom symptom;
    symptom.id = what.id;
    symptom.severity = core::Severity::warning;
    symptom.series = "logits";
    symptom.first_step = watch.first.step;
    symptom.last_step = watch.last.step;
    symptom.measures["first"] = curve.level[0];
    symptom.measures["last"] = curve.last;
    symptom.measures["ratio"] = curve.last / curve.level[0];
    symptom.measures["name"] = name;
    symptom.summary = fmt::format("{} has grown {} -> {} ({}x) by {}", what.words,
                                  core::show_number(curve.level[0]), core::show_number(curve.last),
                                  core::show_number(curve.last / curve.level[0], 2),
                                  at_step(context, watch.last.step));
    if (of.second > 1)
      symptom.summary += fmt::format(" in {}; {} of {} grow", name, of.first, of.second);
    add_evidence(symptom, watch.first.origin);
    add_evidence(symptom, watch.last.origin);
    out.push_back(std::move(symptom));
  }

  Watches output_;
  Watches attention_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_logits_growth_detector() {
  return std::make_unique<LogitsGrowthDetector>();
}

}  // namespace aplomb::gradient_detectors
