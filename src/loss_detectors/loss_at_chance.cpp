/// Losses at the level of a model that knows nothing (ln C of a classifier, ln V of a language
/// model, ln batch of a contrastive one): on the training data, on held-out data alone while the
/// training loss falls, or again after the run had been better.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

/// Of the guess: a model that has learnt anything of use is further below it.
constexpr double k_at = 0.015;
constexpr double k_better = 0.93;  // a run below that had learnt something
constexpr std::uint64_t k_least_losses = 20;
constexpr std::size_t k_least_evals = 3;
constexpr std::uint64_t k_watched = 40;  // losses: half a log at its first level is no start-up
/// Above 1/C: what a few hundred samples leave open.
constexpr double k_share = 0.06;
constexpr double k_sure = 3.0;  // standard errors
constexpr double k_exact = 0.004;

const detectors::DetectorSpec& loss_at_chance_spec() {
  static const detectors::DetectorSpec spec{
      "loss.at_chance",
      {"loss.at_chance", "loss.back_at_chance", "eval.at_chance"},
      "The loss is that of a guess",
      "A model whose loss is ln(classes) takes nothing from its inputs, however long it trains.",
      "eval_loss 2.084, 2.091, 2.102 with 8 classes, whose logarithm is 2.079",
      {record::Role::loss, record::Role::eval_loss, record::Role::eval_accuracy},
      {{"at", k_at, "fraction", 0.001, 0.2,
        "benchmark here: sound classifiers are further below ln C after a pass"},
       {"least_losses", static_cast<double>(k_least_losses), "samples", 5, 1000,
        "the median of fewer single batches is not known to a hundredth"},
       {"share", k_share, "fraction", 0, 0.5,
        "the accuracy of a guess over 300 samples of 2 classes is known to 0.03"}},
      {"https://karpathy.github.io/2019/04/25/recipe/"},
      true};
  return spec;
}

double share_of(double accuracy) { return accuracy > 1 ? accuracy / 100 : accuracy; }

class LossAtChanceDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_at_chance_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::loss, losses_);
    add_finite(frame, record::Role::eval_loss, evals_);
    if (const detectors::Reading* accuracy = finite_of(frame, record::Role::eval_accuracy))
      best_accuracy_ = std::max(best_accuracy_, share_of(accuracy->value));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || !context.task.guess) return;
    if (context.task.kind == task::Kind::preference) return;  // pairs are judged by themselves
    const double guess = context.task.guess->value;
    const bool eval = evals_at(guess, context);
    if (eval) out.push_back(eval_symptom(context));
    if (losses_.count() < k_least_losses) return;
    const double late = losses_.median(0.5, 1);
    // A sum over a batch, or a term beside the cross-entropy, is compared with nothing.
    // Classes that only the first losses tell have logarithms everywhere: the level must be exact.
    const double most = context.task.kind == task::Kind::unknown ? 1 + k_at : 1.3;
    if (late > most * guess || late < (1 - k_at) * guess) return;
    const double best = best_level();
    if (best > k_better * guess) {
      out.push_back(loss_symptom("loss.at_chance", context));
    } else if (losses_.median(0.75, 1) < 1.1 * guess &&
               losses_.median(0.875, 1) > (1 - k_at) * guess) {
      detectors::Symptom back = loss_symptom("loss.back_at_chance", context);
      back.measures["best"] = best;
      back.summary += fmt::format("; it had been {} before", core::show_number(best));
      out.push_back(std::move(back));
    }
  }

 private:
  bool evals_at(double guess, const detectors::RunContext& context) const {
    if (evals_.size() < k_least_evals || evals_.thinned()) return false;
    for (const detectors::Sample& sample : evals_.samples()) {
      if (sample.value < (1 - k_at) * guess || sample.value > 3 * guess) return false;
    }
    if (!context.task.classes || best_accuracy_ < 0) return true;
    const double by_chance = 1 / context.task.classes->value;
    return best_accuracy_ <= by_chance + std::min(k_share, by_chance);
  }

  /// The lowest level that an eighth of the run keeps.
  double best_level() const {
    double best = losses_.median(0, 1.0 / 8);
    for (int eighth = 1; eighth < 8; ++eighth)
      best = std::min(best, losses_.median(eighth / 8.0, (eighth + 1) / 8.0));
    return best;
  }

  /// By how many standard errors the training losses, but for the first tenth, lie above a level.
  double above(double level) const {
    const auto count = 0.9 * static_cast<double>(losses_.size());
    const double error = 1.25 * losses_.noise(0.1, 1) / std::sqrt(std::max(count, 1.0));
    return error > 0 ? (losses_.median(0.1, 1) - level) / error : 0;
  }

  bool evals_exact(double guess) const {
    return std::all_of(evals_.samples().begin(), evals_.samples().end(),
                       [&](const detectors::Sample& each) {
                         return std::fabs(each.value - guess) < k_exact * guess;
                       });
  }

  void add_training(double guess, detectors::Symptom& symptom) const {
    if (losses_.count() < k_least_losses) return;
    symptom.measures["train"] = losses_.median(0.75, 1);
    symptom.measures["train_falls"] = losses_.median(0.75, 1) < 0.98 * losses_.median(0, 0.25);
    symptom.measures["train_above"] = above(guess) > k_sure;
    symptom.measures["noise"] = losses_.noise();
  }

  detectors::Symptom eval_symptom(const detectors::RunContext& context) const {
    const double guess = context.task.guess->value;
    detectors::Symptom symptom = about("eval.at_chance", "eval_loss", evals_, context);
    symptom.measures["last"] = evals_.back().value;
    symptom.measures["exact"] = evals_exact(guess);
    symptom.measures["rises"] = evals_.back().value > 1.005 * evals_.front().value;
    if (best_accuracy_ >= 0) symptom.measures["accuracy"] = best_accuracy_;
    add_training(guess, symptom);
    symptom.summary =
        fmt::format("held-out loss {} to {} is no better than {} = {}, that of a guess",
                    core::show_number(evals_.front().value), core::show_number(evals_.back().value),
                    context.task.guess->because, core::show_number(guess));
    if (best_accuracy_ >= 0)
      symptom.summary += fmt::format("; accuracy {} at best", core::show_number(best_accuracy_, 3));
    return symptom;
  }

  detectors::Symptom loss_symptom(const char* id, const detectors::RunContext& context) const {
    const double guess = context.task.guess->value;
    detectors::Symptom symptom = about(id, "loss", losses_, context);
    symptom.measures["level"] = losses_.median(0.5, 1);
    symptom.measures["above"] = above(guess) > k_sure;
    symptom.measures["noise"] = losses_.noise();
    if (losses_.count() < k_watched) symptom.severity = core::Severity::note;
    symptom.summary = fmt::format("loss stays at {}: {} = {} is that of a guess",
                                  core::show_number(losses_.median(0.5, 1)),
                                  context.task.guess->because, core::show_number(guess));
    return symptom;
  }

  static detectors::Symptom about(const char* id, const char* series, const detectors::Kept& kept,
                                  const detectors::RunContext& context) {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = core::Severity::warning;
    symptom.series = series;
    symptom.first_step = kept.front().step;
    symptom.last_step = kept.back().step;
    symptom.measures["guess"] = context.task.guess->value;
    if (context.task.classes) symptom.measures["classes"] = context.task.classes->value;
    add_evidence(symptom, kept.front().origin);
    add_evidence(symptom, kept.back().origin);
    return symptom;
  }

  detectors::Kept losses_;
  detectors::Kept evals_;
  double best_accuracy_ = -1;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_at_chance_detector() {
  return std::make_unique<LossAtChanceDetector>();
}

}  // namespace aplomb::loss_detectors
