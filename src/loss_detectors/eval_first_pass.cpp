/// Held-out numbers that are worse than those of training within the first pass over the data. There
/// every training sample is seen for the first time, so that its loss is a held-out loss too, and of
/// weights that were worse on average: a gap that is there already is no overfitting. Evaluation
/// then runs another model (left in training mode), on other data, or scores otherwise.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

/// Of the training loss in the first pass.
constexpr double k_worse = 1.3;
/// Nothing later comes within this of it.
constexpr double k_never = 1.1;
constexpr double k_least_gap = 0.1;
/// Of an accuracy, in shares: what some hundred samples leave open is 0.05.
constexpr double k_points = 0.15;
constexpr std::size_t k_least_evals = 3;

const detectors::DetectorSpec& eval_first_pass_spec() {
  static const detectors::DetectorSpec spec{
      "eval.first_pass",
      {"eval.worse_in_first_pass"},
      "Held-out numbers are worse than those of training in the first pass already",
      "Nothing was seen twice yet, so it is no overfitting: evaluation runs another model or other "
      "data.",
      "epoch 1: train acc 0.74, test acc 0.43; epoch 5: train acc 0.99, test acc 0.47",
      {record::Role::loss, record::Role::eval_loss, record::Role::accuracy,
       record::Role::eval_accuracy, record::Role::epoch},
      {{"worse", k_worse, "x", 1.05, 10,
        "benchmark here: after one pass the held-out losses of sound runs are below the training "
        "loss, or above it by a tenth"},
       {"points", k_points, "fraction", 0.01, 1,
        "the accuracy of 300 samples is known to 0.06 (two standard errors)"}},
      {"https://arxiv.org/abs/2010.08127"}};
  return spec;
}

/// A metric in training and on held-out data.
struct Pair {
  detectors::Kept train;  ///< of the first pass
  std::optional<detectors::Sample> first_eval;
  double best = 0;
  std::size_t evals = 0;

  void evaluate(const detectors::Sample& sample, bool first_pass, bool higher_is_better) {
    if (evals == 0 && first_pass) first_eval = sample;
    best = evals == 0         ? sample.value
           : higher_is_better ? std::max(best, sample.value)
                              : std::min(best, sample.value);
    ++evals;
  }
  bool is_known() const { return first_eval && train.count() > 0 && evals >= k_least_evals; }
  /// What training had come to at the end of its first pass.
  double reached() const { return train.median(0.5, 1); }
};

double share_of(double accuracy) { return accuracy > 1 ? accuracy / 100 : accuracy; }

class EvalFirstPassDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return eval_first_pass_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    if ((context.step_kind == record::StepKind::epoch)) {
      note_epoch(static_cast<double>(frame.step), true);
    } else if (const detectors::Reading* epoch = finite_of(frame, record::Role::epoch)) {
      note_epoch(epoch->value, false);
    } else if (context.task.steps_per_pass) {
      epoch_ = static_cast<double>(frame.step) / context.task.steps_per_pass->value;
    }
    const bool first = is_first_pass(context) || is_first_round(frame);
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss);
        loss != nullptr && first)
      loss_.train.add(sample_of(frame, *loss));
    if (const detectors::Reading* accuracy = finite_of(frame, record::Role::accuracy);
        accuracy != nullptr && first)
      accuracy_.train.add(sample_of(frame, *accuracy));
    if (const detectors::Reading* loss = finite_of(frame, record::Role::eval_loss))
      loss_.evaluate(sample_of(frame, *loss), first && loss_.train.count() > 0, false);
    if (const detectors::Reading* accuracy = finite_of(frame, record::Role::eval_accuracy))
      accuracy_.evaluate(sample_of(frame, *accuracy), first && accuracy_.train.count() > 0, true);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || context.task.kind == task::Kind::preference) return;
    if (accuracy_.is_known()) {
      const double train = share_of(accuracy_.reached());
      const double eval = share_of(accuracy_.first_eval->value);
      if (train - eval >= k_points && share_of(accuracy_.best) < train)
        out.push_back(symptom_of("accuracy", accuracy_, context));
      return;  // an accuracy has no scale that could differ
    }
    if (!loss_.is_known()) return;
    const double train = loss_.reached();
    if (train > 0 && loss_.first_eval->value > std::max(k_worse * train, train + k_least_gap) &&
        loss_.best > k_never * train)
      out.push_back(symptom_of("loss", loss_, context));
  }

 private:
  void note_epoch(double epoch, bool whole) {
    if (whole && !first_epoch_) first_epoch_ = epoch;
    epoch_ = epoch;
  }

  /// Programs that evaluate once a pass and do not say so: the first record holds an accuracy in
  /// training and on held-out data, and nothing came before it. An accuracy that is high already
  /// may be that of many passes.
  bool is_first_round(const detectors::Frame& frame) {
    constexpr double k_learnt = 0.9;
    const detectors::Reading* accuracy = finite_of(frame, record::Role::accuracy);
    const detectors::Reading* eval = finite_of(frame, record::Role::eval_accuracy);
    const bool before = rounds_ > 0;
    if (accuracy != nullptr || eval != nullptr) ++rounds_;
    return !before && !epoch_ && accuracy != nullptr && eval != nullptr &&
           share_of(accuracy->value) < k_learnt;
  }

  /// Logs of one line a pass count from 0 or from 1; others by fractions of a pass.
  bool is_first_pass(const detectors::RunContext& context) const {
    constexpr double k_rounding = 1.005;
    if ((context.step_kind == record::StepKind::epoch))
      return first_epoch_ && *first_epoch_ <= 1 && epoch_ == *first_epoch_;
    return epoch_ && *epoch_ <= k_rounding;
  }

  static detectors::Symptom symptom_of(const char* what, const Pair& pair,
                                       const detectors::RunContext& context) {
    detectors::Symptom symptom;
    symptom.id = "eval.worse_in_first_pass";
    symptom.severity = core::Severity::warning;
    symptom.series = std::string("eval_") + what;
    symptom.first_step = pair.train.front().step;
    symptom.last_step = pair.first_eval->step;
    symptom.measures["train"] = pair.reached();
    symptom.measures["eval"] = pair.first_eval->value;
    symptom.measures["best"] = pair.best;
    symptom.measures["metric"] = std::string(what);
    symptom.summary = fmt::format(
        "held-out {} {} in the first pass, where training has {}, and never better than {} ({})",
        what, core::show_number(pair.first_eval->value), core::show_number(pair.reached()),
        core::show_number(pair.best), at_step(context, pair.first_eval->step));
    add_evidence(symptom, pair.train.back().origin);
    add_evidence(symptom, pair.first_eval->origin);
    return symptom;
  }

  Pair loss_;
  Pair accuracy_;
  std::optional<double> epoch_;
  std::optional<double> first_epoch_;
  std::size_t rounds_ = 0;  ///< frames that held an accuracy
};

}  // namespace

std::unique_ptr<detectors::Detector> make_eval_first_pass_detector() {
  return std::make_unique<EvalFirstPassDetector>();
}

}  // namespace aplomb::loss_detectors
