/// Dynamic loss scaling, and a judge of its history: a few halvings at the start find the scale;
/// halvings again and again, or a scale that is gone, mean that the forward pass overflows, which
/// no scale mends.

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"
#include "core/training_limits.h"
#include "guard/policy.h"
#include "guard/recent_share.h"

namespace aplomb::guard {
namespace {

constexpr std::uint64_t k_calibration = 20;  // steps: 65536 is halved 16 times to reach 1
constexpr double k_most = 16777216.0;        // 2^24: a gradient that fp16 could hold without any
                                             // scale overflows there

constexpr PolicySpec k_loss_scale_spec{
    "loss_scale", "keeps the dynamic loss scale, and tells calibration from persistent overflow",
    "torch.amp.GradScaler's defaults: growth 2, back-off 0.5, interval 2000; Micikevicius et al. "
    "2018, arXiv 1710.03740"};

class LossScale final : public Policy {
 public:
  explicit LossScale(const GuardOptions& options) : options_(options) {}
  const PolicySpec& spec() const override { return k_loss_scale_spec; }

  void judge(const GuardStep& step, const StepAssessment& assessment, Decision& decision) override {
    GuardVerdict& verdict = decision.verdict();
    if (!options_.keeps_loss_scale) return watch(step.loss_scale, decision);
    const bool overflow =
        assessment.nonfinite_grads > 0 && (!assessment.loss.given || assessment.loss.finite);
    if (overflow) {
      const double from = verdict.loss_scale;
      verdict.loss_scale = from * options_.loss_scale_backoff;
      clean_ = 0;
      decision.raise(GuardAction::skip, k_loss_scale_spec.slug, {});
      if (verdict.action == GuardAction::skip)
        tell(decision,
             fmt::format("gradients overflow at loss scale {}: lowered to {}",
                         core::show_number(from, 7), core::show_number(verdict.loss_scale, 7)));
    } else if (!assessment.nonfinite() && ++clean_ >= options_.loss_scale_interval) {
      clean_ = 0;
      if (verdict.loss_scale < k_most) verdict.loss_scale *= options_.loss_scale_growth;
    }
    watch(verdict.loss_scale, decision);
  }

  void serialize(core::StateArchive& archive) override {
    archive.field(clean_);
    archive.field(last_);
    archive.field(peak_);
    archive.field(seen_);
    archive.field(told_gone_);
    archive.field(told_often_);
    late_.serialize(archive);
  }

 private:
  void watch(double scale, Decision& decision) {
    if (!(scale > 0)) return;
    const bool halved = last_ > 0 && scale < last_;
    last_ = scale;
    peak_ = std::max(peak_, scale);
    if (peak_ <= 1) return;  // no loss scaling here
    ++seen_;
    if (halved && scale <= core::k_least_loss_scale && peak_ >= core::k_had_loss_scale &&
        !told_gone_) {
      told_gone_ = true;
      tell(decision, fmt::format("the loss scale has fallen from {} to {}: every step overflows, "
                                 "in the forward pass; use bf16 or fp32 there",
                                 core::show_number(peak_, 7), core::show_number(scale, 7)));
    }
    if (seen_ <= k_calibration) return;
    const bool rising = late_.add(halved);
    if (rising && !told_often_) {
      told_often_ = true;
      tell(decision, fmt::format("the loss scale was halved in {} of the last {} steps, after "
                                 "calibration: steps are skipped again and again",
                                 late_.count(), late_.size()));
    } else if (!rising && late_.count() == 0) {
      told_often_ = false;
    }
  }

  /// Beside a skip as well: this is the news.
  static void tell(Decision& decision, const std::string& text) {
    decision.verdict().say(k_loss_scale_spec.slug, text);
  }

  GuardOptions options_;
  std::uint32_t clean_ = 0;  // steps without overflow
  double last_ = 0;
  double peak_ = 0;
  std::uint64_t seen_ = 0;
  bool told_gone_ = false;
  bool told_often_ = false;
  RecentShare late_;  // halvings after calibration
};

}  // namespace

std::unique_ptr<Policy> make_loss_scale_policy(const GuardOptions& options) {
  return std::make_unique<LossScale>(options);
}

}  // namespace aplomb::guard
