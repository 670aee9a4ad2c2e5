/// What a model could do when training began is lost by the first steps and not won back: a rate
/// that is too high for weights that were trained before, or a first evaluation that stays the best.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 10;
constexpr double k_lost = 1.5;        // x the first loss: every later one is above
constexpr double k_eval_lost = 1.02;  // x the evaluation before training
constexpr std::size_t k_least_evals = 3;
constexpr double k_sigma = 4.0;

const detectors::DetectorSpec& loss_start_lost_spec() {
  static const detectors::DetectorSpec spec{
      "loss.start_lost",
      {"loss.start_lost", "eval.best_before_training"},
      "The first loss, or the evaluation before training, is never reached again",
      "Training made the model worse than it was: the first updates have thrown away what it knew.",
      "loss 1.93 at the first record, 11.4 at the second, 7.2 at the end",
      {record::Role::loss, record::Role::eval_loss},
      {{"lost", k_lost, "x", 1.05, 100,
        "a single batch's loss is within a third of the next ones'"},
       {"least", static_cast<double>(k_least), "samples", 3, 1000,
        "so many had the time to recover"}},
      {"https://arxiv.org/abs/2309.14322"},
      true};
  return spec;
}

class LossStartLostDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_start_lost_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      const detectors::Sample sample = sample_of(frame, *loss);
      if (losses_.count() == 1 || (losses_.count() > 1 && sample.value < least_.value))
        least_ = sample;
      losses_.add(sample);
    }
    if (const detectors::Reading* eval = finite_of(frame, record::Role::eval_loss)) {
      const detectors::Sample sample = sample_of(frame, *eval);
      if (evals_++ == 0) {
        before_ = sample;
        untrained_ = losses_.count() == 0;
        return;
      }
      if (evals_ == 2 || sample.value < least_eval_.value) least_eval_ = sample;
      last_eval_ = sample;
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    // Policies, adversaries, and objectives whose weights grow on purpose rise by themselves.
    const task::Kind kind = context.task.kind;
    if (context.reinforcement || kind == task::Kind::gan || kind == task::Kind::vae ||
        kind == task::Kind::value)
      return;
    report_loss(context, out);
    report_eval(context, out);
  }

 private:
  void report_loss(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    if (losses_.count() < k_least) return;
    const detectors::Sample& first = losses_.front();
    const double later = losses_.median(0.5, 1);
    if (!(first.value > 0) || least_.value < k_lost * first.value ||
        later - first.value < k_sigma * losses_.noise(0.5, 1))
      return;
    detectors::Symptom symptom;
    symptom.id = "loss.start_lost";
    symptom.severity = core::Severity::unstable;
    symptom.series = "loss";
    symptom.first_step = first.step;
    symptom.last_step = losses_.back().step;
    symptom.measures["first"] = first.value;
    symptom.measures["best_later"] = least_.value;
    symptom.measures["last"] = losses_.back().value;
    symptom.summary =
        fmt::format("loss is {} at {} and never below {} again: {} at the end",
                    core::show_number(first.value), at_step(context, first.step),
                    core::show_number(least_.value), core::show_number(losses_.back().value));
    add_evidence(symptom, first.origin);
    add_evidence(symptom, least_.origin);
    add_evidence(symptom, losses_.back().origin);
    out.push_back(std::move(symptom));
  }

  void report_eval(const detectors::RunContext&, std::vector<detectors::Symptom>& out) const {
    if (!untrained_ || evals_ < k_least_evals || !(before_.value > 0) ||
        least_eval_.value < k_eval_lost * before_.value)
      return;
    detectors::Symptom symptom;
    symptom.id = "eval.best_before_training";
    symptom.severity = core::Severity::warning;
    symptom.series = "eval_loss";
    symptom.first_step = before_.step;
    symptom.last_step = last_eval_.step;
    symptom.measures["before"] = before_.value;
    symptom.measures["best_later"] = least_eval_.value;
    symptom.measures["ratio"] = least_eval_.value / before_.value;
    symptom.summary =
        fmt::format("held-out loss is {} before training and {} at best after it",
                    core::show_number(before_.value), core::show_number(least_eval_.value));
    add_evidence(symptom, before_.origin);
    add_evidence(symptom, least_eval_.origin);
    out.push_back(std::move(symptom));
  }

  detectors::Kept losses_;
  detectors::Sample least_;
  std::size_t evals_ = 0;
  bool untrained_ = false;
  detectors::Sample before_;
  detectors::Sample least_eval_;
  detectors::Sample last_eval_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_start_lost_detector() {
  return std::make_unique<LossStartLostDetector>();
}

}  // namespace aplomb::loss_detectors
