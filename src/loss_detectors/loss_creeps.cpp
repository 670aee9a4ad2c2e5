/// A loss that moves by one digit in a hundred thousand from record to record, always the same way:
/// weights that move, by next to nothing. A flat loss wanders with its batches; this one does not,
/// because each record is a mean over the same data.

#include <fmt/format.h>

#include <cmath>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 5;
/// Of the loss, from the first record to the last.
constexpr double k_all = 0.002;
/// Steps the other way, as shares of the whole way: rounding of the last printed digit.
constexpr double k_back = 0.1;

const detectors::DetectorSpec& loss_creeps_spec() {
  static const detectors::DetectorSpec spec{
      "loss.creeps",
      {"loss.creeps"},
      "The loss falls evenly, by next to nothing",
      "The gradient points the right way and the steps are thousands of times too short.",
      "loss 1.61918, 1.61917, 1.61916, 1.61916, 1.61915 over five passes",
      {record::Role::loss},
      {{"all", k_all, "fraction", 1e-5, 0.05,
        "benchmark here: a sound run's loss falls by more in one pass"},
       {"back", k_back, "fraction", 0, 0.5, "rounding of the last digit that is printed"}},
      {"https://docs.pytorch.org/docs/stable/notes/amp_examples.html"},
      true};
  return spec;
}

class LossCreepsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_creeps_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::loss, losses_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || losses_.count() < k_least || losses_.thinned()) return;
    const double first = losses_.front().value;
    const double way = first - losses_.back().value;
    if (!(way > 0) || way > k_all * std::fabs(first)) return;
    double back = 0;
    for (std::size_t i = 1; i < losses_.size(); ++i) {
      const double step = losses_[i - 1].value - losses_[i].value;
      if (step < 0) back -= step;
      if (step > way / 2) return;  // one fall and nothing else is no creeping
    }
    if (back > k_back * way) return;
    detectors::Symptom symptom;
    symptom.id = "loss.creeps";
    symptom.severity = core::Severity::warning;
    symptom.series = "loss";
    symptom.first_step = losses_.front().step;
    symptom.last_step = losses_.back().step;
    symptom.measures["share"] = way / std::fabs(first);
    symptom.summary = fmt::format(
        "loss falls evenly from {} to {} in {} records: by next to nothing",
        core::show_number(first, 7), core::show_number(losses_.back().value, 7), losses_.count());
    add_evidence(symptom, losses_.front().origin);
    add_evidence(symptom, losses_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Kept losses_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_creeps_detector() {
  return std::make_unique<LossCreepsDetector>();
}

}  // namespace aplomb::loss_detectors
