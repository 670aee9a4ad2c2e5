/// A calm loss that jumps from one record to the next, far beyond anything that its neighbours do,
/// and then heals over several records: a part of what was learned was lost at that point (weights
/// that a resume did not restore, an optimizer that starts anew, other data). The jump of one bad
/// batch is gone with the next record (loss.spike); what never heals has diverged.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_before = 4;  // records that say how calm it was
/// Differences of neighbours before it: Gaussian noise stays below four of its largest of four.
constexpr double k_calm = 8;
constexpr double k_jump = 0.2;    // of the level before
constexpr double k_still = 0.15;  // of the jump: what the next record has kept of it
constexpr double k_healed = 0.15;
constexpr double k_high = 0.1;  // of the first loss
constexpr double k_lr_restart =
    1.5;  // x: more than any warm-up does between two records at its end
constexpr std::size_t k_most_restarts = 64;

const detectors::DetectorSpec& loss_relapse_spec() {
  static const detectors::DetectorSpec spec{
      "loss.relapse",
      {"loss.relapse"},
      "A calm loss jumps from one record to the next and heals over several",
      "A part of what was learned was lost there: weights, optimizer state or the place in the "
      "data.",
      "loss 1.11, 1.10, 1.08, 1.08, 1.77, 1.29, 1.12, 1.09",
      {record::Role::loss, record::Role::lr},
      {{"calm", k_calm, "differences", 2, 100,
        "the largest of four differences of Gaussian noise is passed eight times once in 10^9"},
       {"jump", k_jump, "fraction", 0.02, 10,
        "a warm restart of the learning rate costs less (arXiv:1608.03983, figure 2)"}},
      {"https://arxiv.org/abs/1608.03983"},
      true};
  return spec;
}

class LossRelapseDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_relapse_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* lr = finite_of(frame, record::Role::lr)) {
      if (lr_ > 0 && lr->value > k_lr_restart * lr_) restarts_.push_back(frame.step);
      if (restarts_.size() > k_most_restarts) restarts_.erase(restarts_.begin());
      lr_ = lr->value;
    }
    add_finite(frame, record::Role::loss, losses_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || losses_.thinned()) return;
    std::optional<std::size_t> found;
    for (std::size_t i = k_before + 1; i + 2 < losses_.size(); ++i) {
      if (!is_relapse(i)) continue;
      if (found) return;  // a pattern that comes again is another thing
      found = i;
    }
    if (found) out.push_back(symptom_at(*found, context));
  }

 private:
  double value(std::size_t index) const { return losses_[index].value; }

  bool is_relapse(std::size_t at) const {
    const double level = value(at - 1);
    double calm = 0;
    for (std::size_t i = at - k_before; i < at; ++i)
      calm = std::max(calm, std::fabs(value(i) - value(i - 1)));
    const double jump = value(at) - level;
    if (!(level > 0) || jump < k_jump * level || jump < k_calm * calm) return false;
    // A schedule that starts anew, by plan or not, has causes of its own.
    const bool restarted = std::any_of(restarts_.begin(), restarts_.end(), [&](std::int64_t step) {
      return step >= losses_[at - 2].step && step <= losses_[at + 1].step;
    });
    if (restarted) return false;
    if (value(at + 1) - level < k_still * jump || value(at + 1) >= value(at)) return false;
    for (std::size_t i = at + 2; i < losses_.size(); ++i) {
      if (value(i) - level <= k_healed * jump) return true;
    }
    return false;
  }

  detectors::Symptom symptom_at(std::size_t at, const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.relapse";
    // Near its floor a loss jumps by itself; beside a resume it is what was lost there.
    const bool high = value(at - 1) >= k_high * losses_.front().value;
    symptom.severity =
        high || !context.resumed_at.empty() ? core::Severity::warning : core::Severity::note;
    symptom.series = "loss";
    symptom.first_step = losses_[at].step;
    symptom.last_step = losses_[at].step;
    symptom.measures["before"] = value(at - 1);
    symptom.measures["peak"] = value(at);
    symptom.measures["step"] = static_cast<double>(losses_[at].step);
    symptom.summary = fmt::format(
        "loss jumps from {} to {} at {} and takes several records to heal: something that was "
        "learned was lost there",
        core::show_number(value(at - 1)), core::show_number(value(at)),
        at_step(context, losses_[at].step));
    add_evidence(symptom, losses_[at - 1].origin);
    add_evidence(symptom, losses_[at].origin);
    return symptom;
  }

  detectors::Kept losses_;
  double lr_ = 0;
  std::vector<std::int64_t> restarts_;  ///< steps at which the learning rate jumped up
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_relapse_detector() {
  return std::make_unique<LossRelapseDetector>();
}

}  // namespace aplomb::loss_detectors
