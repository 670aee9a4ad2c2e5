/// A training loss that starts above that of a model which knows nothing. A guess over V tokens
/// costs ln V nats: more can only come from weights that are far too large, from a sum where a mean
/// is meant (micro-batches, tokens), or from labels in which the model is sure of the wrong.

#include <fmt/format.h>

#include <cmath>

#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

// Weights drawn with the usual deviations start within a tenth of ln V; half as much again leaves
// room for label smoothing, auxiliary losses and heads of another scale.
constexpr double k_ratio = 1.5;
constexpr double k_least_vocab = 32;  // below it a "vocabulary" is a handful of classes
/// Of a classifier's ln C: features that are not normalised start it higher than a text model.
constexpr double k_class_ratio = 3.0;

const detectors::DetectorSpec& loss_start_spec() {
  static const detectors::DetectorSpec spec{
      "loss.start",
      {"loss.start_high"},
      "The first training loss is far above ln(vocabulary)",
      "A model that knows nothing has a loss of ln(vocabulary): one that starts far above it is "
      "drawn too large, or the loss is a sum where a mean is meant.",
      "loss 44.5 at step 1 with 259 tokens, whose logarithm is 5.6",
      {record::Role::loss},
      {{"ratio", k_ratio, "times", 1, 100, "sound starts lie within a tenth of ln(vocabulary)"}},
      {"https://karpathy.github.io/2019/04/25/recipe/"}};
  return spec;
}

class LossStartDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_start_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (seen_ || context.reinforcement) return;
    const detectors::Reading* loss = reading_of(frame, record::Role::loss);
    if (loss == nullptr || !std::isfinite(loss->value)) return;
    seen_ = true;  // the first one alone is a start
    const bool tokens = context.vocab_size && *context.vocab_size >= k_least_vocab;
    const bool classes = !tokens && context.task.kind == task::Kind::classifier &&
                         context.task.guess && context.task.classes;
    if (!tokens && !classes) return;
    const double guess = tokens ? std::log(*context.vocab_size) : context.task.guess->value;
    if (loss->value < (tokens ? k_ratio : k_class_ratio) * guess) return;
    const detectors::Sample sample = sample_of(frame, *loss);
    detectors::Symptom symptom;
    symptom.id = "loss.start_high";
    symptom.severity = core::Severity::warning;
    symptom.first_step = symptom.last_step = frame.step;
    symptom.series = context.series_names[loss->series];
    symptom.summary =
        fmt::format("loss starts at {:.3g}; a guess over {:.0f} {} costs {:.3g}", loss->value,
                    std::exp(guess), tokens ? "tokens" : "classes", guess);
    symptom.measures["ratio"] = loss->value / guess;
    symptom.measures["first"] = loss->value;
    symptom.evidence.push_back(sample.origin);
    out.push_back(std::move(symptom));
  }

  void finish(const detectors::RunContext&, std::vector<detectors::Symptom>&) override {}

 private:
  bool seen_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_start_detector() {
  return std::make_unique<LossStartDetector>();
}

}  // namespace aplomb::loss_detectors
