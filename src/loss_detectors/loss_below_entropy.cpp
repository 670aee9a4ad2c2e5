/// A language model of characters whose held-out loss is below the entropy of text: it sees what it is
/// to predict (no causal mask, labels among the inputs), for nobody can know the next letter that well.

#include <fmt/format.h>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

/// Nats a character: Shannon's lower bound for English, 0.6 bits.
constexpr double k_floor = 0.42;
constexpr std::size_t k_least = 3;
/// Fewer letters make no text (text8 has 27); more are no characters.
constexpr double k_fewest = 26;
constexpr double k_most = 1000;

const detectors::DetectorSpec& loss_below_entropy_spec() {
  static const detectors::DetectorSpec spec{
      "loss.below_entropy",
      {"loss.below_entropy"},
      "The held-out loss of a model of characters is below the entropy of text",
      "Nobody can know the next letter that well: the model sees it.",
      "val 4.69, 3.01, 1.99, 0.51, 0.19 nats a character, with 96 characters",
      {record::Role::eval_loss},
      {{"floor", k_floor, "nats", 0.01, 2, "Shannon 1951: 0.6 to 1.3 bits a letter of English"}},
      {"https://doi.org/10.1002/j.1538-7305.1951.tb01366.x"}};
  return spec;
}

class LossBelowEntropyDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_below_entropy_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::eval_loss, losses_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (!context.task.of_characters || !context.task.vocabulary || losses_.count() < k_least)
      return;
    const double characters = context.task.vocabulary->value;
    const double last = losses_.back().value;
    if (characters < k_fewest || characters > k_most || last >= k_floor || last < 0) return;
    detectors::Symptom symptom;
    symptom.id = "loss.below_entropy";
    symptom.severity = core::Severity::warning;
    symptom.series = "eval_loss";
    symptom.first_step = losses_.front().step;
    symptom.last_step = losses_.back().step;
    symptom.measures["last"] = last;
    symptom.measures["floor"] = k_floor;
    symptom.summary = fmt::format(
        "held-out loss {} nats a character: text has {} and more, so the model sees what it "
        "predicts",
        core::show_number(last, 3), core::show_number(k_floor, 2));
    add_evidence(symptom, losses_.front().origin);
    add_evidence(symptom, losses_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Kept losses_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_below_entropy_detector() {
  return std::make_unique<LossBelowEntropyDetector>();
}

}  // namespace aplomb::loss_detectors
