/// A cross-entropy below 0. It is minus the logarithm of a probability: what falls below 0 holds a
/// term that is subtracted (a penalty with the wrong sign, which then rewards what it was to hold),
/// or is no such loss at all.

#include <fmt/format.h>

#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::uint64_t k_in_a_row = 3;
constexpr double k_rounding = 0.02;   // a loss near 0 in bf16 may round below it
constexpr double k_least_vocab = 32;  // with a vocabulary the loss is that of tokens

const detectors::DetectorSpec& loss_negative_spec() {
  static const detectors::DetectorSpec spec{
      "loss.negative",
      {"loss.negative"},
      "The training loss of a language model falls below 0",
      "No cross-entropy does: a term of the loss has the wrong sign and grows without bound.",
      "loss 2.4, 1.1, 0.2, -0.4, -1.3 with 32000 tokens",
      {record::Role::loss},
      {{"in_a_row", static_cast<double>(k_in_a_row), "samples", 1, 100,
        "a single one may be a torn record"},
       {"rounding", k_rounding, "", 0, 1, "bf16 keeps 8 bits: a loss of 0 is known to about that"}},
      {"https://arxiv.org/abs/2204.02311"}};
  return spec;
}

class LossNegativeDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_negative_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr || context.reinforcement) return;
    if (!context.vocab_size || *context.vocab_size < k_least_vocab) return;
    if (loss->value >= -k_rounding) {
      was_positive_ = was_positive_ || loss->value > 0;
      run_ = 0;
      return;
    }
    if (run_ == 0) first_ = sample_of(frame, *loss);
    // A loss that was never above 0 is of another kind: a likelihood ratio, a reward.
    if (++run_ != k_in_a_row || !was_positive_ || told_) return;
    told_ = true;
    detectors::Symptom symptom;
    symptom.id = "loss.negative";
    symptom.severity = core::Severity::unstable;
    symptom.series = series_name(context, *loss, "loss");
    symptom.first_step = first_.step;
    symptom.last_step = frame.step;
    symptom.measures["step"] = static_cast<double>(first_.step);
    symptom.summary = fmt::format("loss falls below 0 at {}, which no cross-entropy does",
                                  at_step(context, first_.step));
    add_evidence(symptom, first_.origin);
    out.push_back(std::move(symptom));
  }

  void finish(const detectors::RunContext&, std::vector<detectors::Symptom>&) override {}

 private:
  bool was_positive_ = false;
  bool told_ = false;
  std::uint64_t run_ = 0;
  detectors::Sample first_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_negative_detector() {
  return std::make_unique<LossNegativeDetector>();
}

}  // namespace aplomb::loss_detectors
