/// Logits that grow over the run, where a program logs them: nothing holds their scale, and small
/// errors of 16-bit arithmetic, then an overflow, decide the loss.

#include <fmt/format.h>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_grown = 3;  // x the first level
constexpr double k_attention = 50;
constexpr double k_output = 50;

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
    add_finite(frame, task::Part::logit_max, output_);
    add_finite(frame, task::Part::attention_logit, attention_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    output_.report("logits.output_grow", "the largest output logit", k_output, context, out);
    attention_.report("logits.attention_grow", "the largest attention logit", k_attention, context,
                      out);
  }

 private:
  struct Watch {
    detectors::Sample first, last;
    core::BlockSummary blocks;

    void add(const detectors::Sample& sample) {
      if (blocks.count() == 0) first = sample;
      last = sample;
      blocks.add(sample.step, sample.value);
    }

    void report(const char* id, const char* what, double limit,
                const detectors::RunContext& context, std::vector<detectors::Symptom>& out) const {
      const detectors::Curve curve = detectors::curve_of(blocks);
      if (curve.size < 5 || !(curve.level[0] > 0) || curve.last < limit ||
          curve.last < k_grown * curve.level[0])
        return;
      detectors::Symptom symptom;
      symptom.id = id;
      symptom.severity = core::Severity::warning;
      symptom.series = "logits";
      symptom.first_step = first.step;
      symptom.last_step = last.step;
      symptom.measures["first"] = curve.level[0];
      symptom.measures["last"] = curve.last;
      symptom.measures["ratio"] = curve.last / curve.level[0];
      symptom.summary = fmt::format(
          "{} has grown {} -> {} ({}x) by {}", what, core::show_number(curve.level[0]),
          core::show_number(curve.last), core::show_number(curve.last / curve.level[0], 2),
          at_step(context, last.step));
      add_evidence(symptom, first.origin);
      add_evidence(symptom, last.origin);
      out.push_back(std::move(symptom));
    }
  };

  Watch output_;
  Watch attention_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_logits_growth_detector() {
  return std::make_unique<LogitsGrowthDetector>();
}

}  // namespace aplomb::gradient_detectors
