/// Trouble that is not one batch's: the learning rate is halved and warmed up again; a rate that
/// has just jumped above all that the run was trained with before is held down to it. A jump of
/// more than an order of magnitude does not wait for the trouble.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "guard/policy.h"
#include "guard/trouble.h"

namespace aplomb::guard {
namespace {

constexpr double k_backoff = 0.5;
constexpr double k_least = 1.0 / 64;
constexpr std::uint32_t k_hold = 50;     // steps at the lowered rate
constexpr std::uint32_t k_rewarm = 150;  // steps back to the schedule: SPAM's warm-up after a reset
constexpr double k_jump = 2.0;           // x the highest rate before, within one step
// Within one step no schedule goes so far: warm-ups rise by less from their second step on,
// restarts (SGDR) come back to a peak that was there. What does (a schedule built anew with other
// numbers, a unit mistaken) has ruined the weights before the loss can tell.
constexpr double k_wild_jump = 10.0;
constexpr std::uint64_t k_known = 32;        // steps before a highest rate means anything (warm-up)
constexpr std::uint32_t k_jump_memory = 64;  // steps in which the trouble is the jump's

constexpr PolicySpec k_lower_lr_spec{
    "lower_lr", "halves the learning rate when the loss stays up or climbs, then warms it up again",
    "back-off and re-warm: SPAM (arXiv 2501.06842); lower rates after divergence: OPT's logbook "
    "(arXiv 2205.01068, section 2.5)"};

class LowerLr final : public Policy {
 public:
  const PolicySpec& spec() const override { return k_lower_lr_spec; }

  void judge(const GuardStep& step, const StepAssessment& assessment, Decision& decision) override {
    const double lr = step.lr && std::isfinite(*step.lr) ? *step.lr : 0;
    watch_jumps(lr, decision);
    warm_up();
    if (just_sustained(assessment)) {
      lower(lr, decision,
            fmt::format("the loss has stood {:.1f}x above its level for {} steps",
                        assessment.loss.ratio, assessment.loss_run));
    } else if (assessment.climbing) {
      lower(lr, decision,
            fmt::format("the loss has climbed from {} to {}",
                        core::show_number(assessment.climb_from),
                        core::show_number(assessment.climb_to)));
    }
    double factor = factor_;
    if (ceiling_ > 0 && lr > ceiling_) {
      factor = std::min(factor, ceiling_ / lr);
    } else {
      ceiling_ = 0;  // the schedule has come down by itself
    }
    decision.verdict().lr_factor = factor;
  }

  void settle(const GuardStep&, const StepAssessment&, const GuardVerdict& verdict) override {
    if (verdict.action == GuardAction::rollback) start(factor_ * k_backoff);
  }

  void serialize(core::StateArchive& archive) override {
    archive.field(factor_);
    archive.field(lowest_);
    archive.field(age_);
    archive.field(highest_);
    archive.field(before_jump_);
    archive.field(jump_age_);
    archive.field(ceiling_);
    archive.field(seen_);
    if (!(factor_ > 0) || factor_ > 1 || !(lowest_ > 0) || lowest_ > 1) archive.reject();
  }

 private:
  void watch_jumps(double lr, Decision& decision) {
    if (lr <= 0) return;
    if (seen_ > k_known && lr > k_wild_jump * highest_ && ceiling_ == 0) {
      ceiling_ = highest_;
      decision.alarm(
          k_lower_lr_spec.slug,
          fmt::format("the learning rate jumps to {}, {:.0f} times the highest before: "
                      "it is held at {} until the schedule comes down",
                      core::show_number(lr), lr / highest_, core::show_number(highest_)));
    }
    if (ceiling_ > 0) return;  // what is held has not been trained with
    ++seen_;
    if (jump_age_ < k_jump_memory) ++jump_age_;
    if (seen_ > k_known && lr >= k_jump * highest_) {
      before_jump_ = highest_;
      jump_age_ = 0;
    }
    highest_ = std::max(highest_, lr);
  }

  void warm_up() {
    if (factor_ >= 1) return;
    ++age_;
    if (age_ <= k_hold) return;
    const double way = static_cast<double>(age_ - k_hold) / static_cast<double>(k_rewarm);
    factor_ = std::min(1.0, lowest_ + (1 - lowest_) * way);
  }

  void start(double factor) {
    lowest_ = std::max(factor, k_least);
    factor_ = lowest_;
    age_ = 0;
  }

  void lower(double lr, Decision& decision, const std::string& why) {
    if (before_jump_ > 0 && jump_age_ < k_jump_memory && ceiling_ == 0) {
      ceiling_ = before_jump_;
      highest_ = before_jump_;
      decision.alarm(
          k_lower_lr_spec.slug,
          fmt::format("{}, {} steps after the learning rate jumped to {}: it is held at "
                      "the {} of before",
                      why, jump_age_, core::show_number(lr), core::show_number(before_jump_)));
      return;
    }
    start(factor_ * k_backoff);
    decision.alarm(k_lower_lr_spec.slug,
                   fmt::format("{}: the learning rate is lowered to {} of the schedule's, and "
                               "warmed up again over {} steps",
                               why, core::show_number(factor_, 3), k_hold + k_rewarm));
  }

  double factor_ = 1;
  double lowest_ = 1;
  std::uint32_t age_ = 0;  // steps since it was lowered
  double highest_ = 0;
  double before_jump_ = 0;
  std::uint32_t jump_age_ = k_jump_memory;
  double ceiling_ = 0;  // 0: none
  std::uint64_t seen_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_lower_lr_policy(const GuardOptions& options) {
  return options.lower_lr ? std::make_unique<LowerLr>() : nullptr;
}

}  // namespace aplomb::guard
