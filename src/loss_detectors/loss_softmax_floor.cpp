/// A cross-entropy that ends at the floor which it has where its inputs are probabilities: softmax
/// was applied before a loss that applies it again. Logits between 0 and 1 leave at least
/// ln(e + C - 1) - 1 nats to the right class, and with saturated outputs each wrong answer adds 1:
/// loss = floor + (1 - accuracy).

#include <fmt/format.h>

#include <cmath>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::uint64_t k_least = 10;
constexpr double k_near = 0.015;     // of the floor
constexpr double k_relation = 0.02;  // nats, of loss - floor - (1 - accuracy)
constexpr double k_learnt = 0.5;     // of the way from 1/C to 1
constexpr double k_noise = 0.05;
// Without a named number of classes, where label smoothing of 0.1 costs 0.5 at the most.
constexpr std::size_t k_least_unsure = 6;
constexpr double k_nearly_all = 0.95;
constexpr double k_few = 10;
constexpr double k_above = 1.08;  // judgement: nearly saturated outputs
constexpr double k_flat = 0.12;   // of the whole fall, in the last quarter

const detectors::DetectorSpec& loss_softmax_floor_spec() {
  static const detectors::DetectorSpec spec{
      "loss.softmax_floor",
      {"loss.softmax_floor"},
      "A classifier's loss levels off at ln(e + C - 1) - 1",
      "Outputs that are probabilities already are squeezed by a second softmax: gradients shrink "
      "and "
      "the loss cannot fall below that floor.",
      "loss 2.30 at first, 1.47 at the end, with 10 classes and an accuracy of 0.99: the floor is "
      "1.461",
      {record::Role::loss, record::Role::eval_loss, record::Role::accuracy,
       record::Role::eval_accuracy},
      {{"near", k_near, "fraction", 1e-3, 0.1, "outputs of trained models are saturated to 1 %"},
       {"relation", k_relation, "nats", 1e-3, 0.5,
        "an accuracy over 500 samples is known to 0.02"}},
      {"https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"}};
  return spec;
}

double share_of(double accuracy) { return accuracy > 1 ? accuracy / 100 : accuracy; }

class LossSoftmaxFloorDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_softmax_floor_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::loss, losses_);
    add_finite(frame, record::Role::eval_loss, eval_losses_);
    add_finite(frame, record::Role::accuracy, accuracies_);
    add_finite(frame, record::Role::eval_accuracy, eval_accuracies_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement) return;
    const bool said =
        context.task.classes && (knows_accuracy() || !is_guess(*context.task.classes));
    const double named = said ? context.task.classes->value : 0;
    const double guessed = guessed_among();
    if (report(named, out) || (guessed != named && report(guessed, out))) return;
    report_unsure(named, out);
  }

 private:
  bool knows_accuracy() const { return accuracies_.count() >= 3 || eval_accuracies_.count() >= 3; }

  /// Many a loss starts near the logarithm of some number: that alone names no classes. What was made of the
  /// first loss has its place.
  bool is_guess(const task::Constant& classes) const {
    if (classes.evidence.empty() || losses_.count() == 0) return false;
    const record::Origin& from = classes.evidence.front();
    const record::Origin& first = losses_.front().origin;
    return from.source == first.source && from.line == first.line && from.offset == first.offset;
  }

  bool report(double classes, std::vector<detectors::Symptom>& out) const {
    if (classes < 3) return false;
    const double floor = floor_of(classes);
    const bool held_out = eval_losses_.count() >= 3 && eval_accuracies_.count() >= 3;
    const detectors::Kept& losses = held_out ? eval_losses_ : losses_;
    const detectors::Kept& accuracies = held_out ? eval_accuracies_ : accuracies_;
    if (losses.count() < (held_out ? 3 : k_least)) return false;
    const double level = losses.median(0.75, 1);
    bool at_floor = false;
    if (accuracies.count() >= 3) {
      const double right = share_of(accuracies.median(0.75, 1));
      at_floor = right > 1 / classes + k_learnt * (1 - 1 / classes) &&
                 std::fabs(level - floor - (1 - right)) < k_relation;
    } else {
      at_floor = level > (1 - k_near / 3) * floor && level < (1 + k_near) * floor &&
                 losses.noise(0.75, 1) < k_noise * floor;
    }
    if (!at_floor) return false;
    put(classes, floor, level, held_out, out);
    return true;
  }

  static double floor_of(double classes) { return std::log(std::exp(1.0) + classes - 1) - 1; }

  void put(double classes, double floor, double level, bool held_out,
           std::vector<detectors::Symptom>& out) const {
    const detectors::Kept& losses = held_out ? eval_losses_ : losses_;
    detectors::Symptom symptom;
    symptom.id = "loss.softmax_floor";
    symptom.severity = core::Severity::warning;
    symptom.series = held_out ? "eval_loss" : "loss";
    symptom.first_step = losses.front().step;
    symptom.last_step = losses.back().step;
    symptom.measures["floor"] = floor;
    symptom.measures["level"] = level;
    symptom.measures["classes"] = classes;
    symptom.summary = fmt::format(
        "loss levels off at {}: with {} classes {} is the lowest where the outputs are "
        "probabilities before the loss takes its own softmax",
        core::show_number(level), classes, core::show_number(floor));
    add_evidence(symptom, losses.front().origin);
    add_evidence(symptom, losses.back().origin);
    out.push_back(std::move(symptom));
  }

  /// Nearly every held-out answer is right, and the loss comes down to the floor from above and no
  /// further: outputs that are not yet saturated. The first loss is at most that of a guess.
  void report_unsure(double named, std::vector<detectors::Symptom>& out) const {
    // An accuracy that is told with each evaluation, and only there, is that of the evaluation.
    const bool named_so = eval_accuracies_.count() >= k_least_unsure;
    if (!named_so && accuracies_.count() != eval_losses_.count()) return;
    const detectors::Kept& accuracies = named_so ? eval_accuracies_ : accuracies_;
    if (eval_losses_.count() < k_least_unsure || accuracies.count() < k_least_unsure ||
        losses_.count() <= eval_losses_.count())
      return;
    const double right = share_of(accuracies.median(0.75, 1));
    if (right < k_nearly_all) return;
    const double classes = named >= 3 ? named : std::ceil(std::exp(losses_.front().value) - 0.05);
    if (classes < 3 || classes > k_few) return;
    const double floor = floor_of(classes);
    const double level = eval_losses_.median(0.75, 1);
    const double earlier = eval_losses_.median(0.5, 0.75);
    const bool flattens = earlier - level < k_flat * (eval_losses_.front().value - level);
    if (level < floor || level > k_above * floor || !flattens) return;
    put(classes, floor, level, true, out);
  }

  /// Classes whose guess costs what the first loss is; 0 where none does, or no accuracy tells whether
  /// it is one.
  double guessed_among() const {
    constexpr double k_most = 1000;
    constexpr double k_as_a_guess = 0.005;  // of ln(C): outputs of untrained networks are that even
    if (losses_.count() == 0 || !knows_accuracy()) return 0;
    const double first = losses_.front().value;
    const double classes = std::round(std::exp(first));
    const bool near = classes >= 3 && classes <= k_most &&
                      std::fabs(first - std::log(classes)) <= k_as_a_guess * std::log(classes);
    return near ? classes : 0;
  }

  detectors::Kept losses_;
  detectors::Kept eval_losses_;
  detectors::Kept accuracies_;
  detectors::Kept eval_accuracies_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_softmax_floor_detector() {
  return std::make_unique<LossSoftmaxFloorDetector>();
}

}  // namespace aplomb::loss_detectors
