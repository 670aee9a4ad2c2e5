/// Weights that are lost: back to a snapshot from before the trouble, past the data that led there,
/// with a lower learning rate (policy lower_lr), a budget of tries, and a check that it helped.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/text.h"
#include "core/training_limits.h"
#include "guard/policy.h"
#include "guard/trouble.h"

namespace aplomb::guard {
namespace {

constexpr std::uint32_t k_nan_run = 3;      // non-finite losses in a row: not a batch, the weights
constexpr std::uint32_t k_probation = 32;   // losses after a rollback before it is judged
constexpr double k_healed = 1.3;            // x the level at the snapshot: as detectors' slow_ratio
constexpr std::uint64_t k_forgiven = 1000;  // calm steps after which the budget is whole again

constexpr PolicySpec k_rollback_spec{
    "rollback", "asks for the last good snapshot, leaves out the data, verifies that it helped",
    "PaLM (arXiv 2204.02311, section 5.1): restart about 100 steps before the spike, leave out 200 "
    "to 500 batches"};

class Rollback final : public Policy {
 public:
  explicit Rollback(std::uint32_t retries) : retries_(retries) {}
  const PolicySpec& spec() const override { return k_rollback_spec; }

  void note_snapshot(std::int64_t step) override {
    if (quiet_ < k_sustained_run) return;  // taken in the midst of trouble
    snapshots_[0] = snapshots_[1];
    snapshots_[1] = {true, step, level_};
  }

  void judge(const GuardStep& step, const StepAssessment& assessment, Decision& decision) override {
    note(step, assessment);
    verify(assessment, decision);
    const std::string trouble = trouble_of(assessment);
    if (trouble.empty()) return;
    const Kept* to = choose(assessment);
    if (to == nullptr) return;  // nothing to go back to: the other policies do what they can
    if (tries_ >= retries_) {
      decision.raise(
          GuardAction::halt, k_rollback_spec.slug,
          fmt::format("{}, after {} rollbacks: it is not the data alone", trouble, tries_));
      return;
    }
    ++tries_;
    // A second try from the same place leaves out what the first left out, and twice what came
    // after it: the steps were counted from there on again, the data went on.
    const std::int64_t gap = std::max<std::int64_t>(step.step - to->step, 1);
    if (to->step != left_from_) left_out_ = 0;
    left_from_ = to->step;
    left_out_ += static_cast<std::uint64_t>(gap) * tries_;
    decision.raise(GuardAction::rollback, k_rollback_spec.slug,
                   fmt::format("{}: back to step {}, leaving out {} batches (try {} of {})",
                               trouble, to->step, left_out_, tries_, retries_));
    decision.verdict().rollback_step = to->step;
    decision.verdict().skip_steps = left_out_;
    wanted_level_ = to->level;
    probation_ = k_probation;
    losses_.clear();
    nan_run_ = 0;
  }

  void serialize(core::StateArchive& archive) override {
    for (Kept& kept : snapshots_) {
      archive.field(kept.taken);
      archive.field(kept.step);
      archive.field(kept.level);
    }
    archive.field(level_);
    archive.field(onset_);
    archive.field(quiet_);
    archive.field(calm_);
    archive.field(nan_run_);
    archive.field(tries_);
    archive.field(probation_);
    archive.field(wanted_level_);
    archive.field(left_from_);
    archive.field(left_out_);
    losses_.serialize(archive);
  }

 private:
  struct Kept {
    bool taken = false;
    std::int64_t step = 0;
    double level = 0;  // of the loss, then; 0: not known
  };

  void note(const GuardStep& step, const StepAssessment& assessment) {
    const bool bad = assessment.nonfinite() || assessment.loss_run > 0;
    nan_run_ = assessment.loss.given && !assessment.loss.finite ? nan_run_ + 1 : 0;
    if (bad) {
      if (quiet_ > 0) onset_ = step.step;
      quiet_ = 0;
      calm_ = 0;
      return;
    }
    if (quiet_ < k_sustained_run) ++quiet_;
    if (assessment.loss.judged) level_ = assessment.loss.level;
    if (++calm_ >= k_forgiven && !assessment.climbing) tries_ = 0;
  }

  std::string trouble_of(const StepAssessment& assessment) const {
    if (nan_run_ == k_nan_run)
      return fmt::format("the loss was not finite {} times in a row", nan_run_);
    if (just_lasting(assessment))
      return fmt::format("the loss has stood {:.1f}x above its level for {} steps",
                         assessment.loss.ratio, assessment.loss_run);
    if (assessment.climbing &&
        assessment.climb_to >= core::k_spike_ratio * assessment.climb_from)  // below, lower_lr acts
      return fmt::format("the loss has climbed from {} to {}",
                         core::show_number(assessment.climb_from),
                         core::show_number(assessment.climb_to));
    return {};
  }

  /// The latest snapshot from before the trouble; of a climb, one where the loss was still good.
  const Kept* choose(const StepAssessment& assessment) const {
    for (std::size_t i = snapshots_.size(); i-- > 0;) {
      const Kept& kept = snapshots_[i];
      if (!kept.taken) continue;
      const bool good = assessment.climbing
                            ? kept.level > 0 && kept.level < k_healed * assessment.climb_from
                            : kept.step < onset_;
      if (good) return &kept;
    }
    return nullptr;
  }

  void verify(const StepAssessment& assessment, Decision& decision) {
    if (probation_ == 0 || !assessment.loss.finite) return;
    losses_.push(assessment.loss.value);
    if (--probation_ > 0 || !(wanted_level_ > 0)) return;
    const double now = losses_.median();
    const bool healed = now <= k_healed * wanted_level_;
    decision.alarm(k_rollback_spec.slug,
                   fmt::format("after the rollback the loss stands at {}, before the trouble at {}"
                               ": {}",
                               core::show_number(now), core::show_number(wanted_level_),
                               healed ? "it goes on" : "that did not help"));
  }

  std::uint32_t retries_;
  std::array<Kept, 2> snapshots_;  // older first
  double level_ = 0;
  std::int64_t onset_ = 0;
  std::uint32_t quiet_ = k_sustained_run;  // steps without trouble, counted to k_sustained_run
  std::uint64_t calm_ = 0;
  std::uint32_t nan_run_ = 0;
  std::uint32_t tries_ = 0;
  std::uint32_t probation_ = 0;
  double wanted_level_ = 0;
  std::int64_t left_from_ = -1;  // the snapshot behind which data were left out last
  std::uint64_t left_out_ = 0;   // batches after it
  core::SortedWindow<k_probation> losses_;
};

}  // namespace

std::unique_ptr<Policy> make_rollback_policy(const GuardOptions& options) {
  return options.rollback_retries > 0 ? std::make_unique<Rollback>(options.rollback_retries)
                                      : nullptr;
}

}  // namespace aplomb::guard
