/// No step is taken with a NaN or an Inf in the loss or the gradients. The skips are counted; more
/// of them than the run is used to is an alarm, and a row of them that no batch can explain ends
/// it.

#include <fmt/format.h>

#include "core/text.h"
#include "guard/policy.h"
#include "guard/recent_share.h"

namespace aplomb::guard {
namespace {

constexpr PolicySpec k_nonfinite_spec{
    "nonfinite", "skips a step with a NaN or Inf in loss or gradients; counts, alarms, halts",
    "torch.amp.GradScaler skips such steps; it does not count them, and stops for none"};

class Nonfinite final : public Policy {
 public:
  explicit Nonfinite(const GuardOptions& options) : most_in_a_row_(options.most_skips_in_a_row) {}
  const PolicySpec& spec() const override { return k_nonfinite_spec; }

  void judge(const GuardStep& step, const StepAssessment& assessment, Decision& decision) override {
    const bool bad = assessment.nonfinite();
    // Overflows under a loss scale are its own matter: some are needed to find it.
    const bool overflow =
        bad && step.loss_scale > 1 && (!assessment.loss.given || assessment.loss.finite);
    if (!bad) {
      in_a_row_ = 0;
      recent_.add(false);
      return;
    }
    ++in_a_row_;
    if (most_in_a_row_ > 0 && in_a_row_ >= most_in_a_row_) {
      decision.raise(GuardAction::halt, k_nonfinite_spec.slug,
                     fmt::format("{} steps in a row without a finite {}: no batch explains that, "
                                 "the weights or the code are at fault",
                                 in_a_row_, overflow ? "gradient" : "loss and gradient"));
      return;
    }
    const bool rising = !overflow && recent_.add(true);
    decision.raise(GuardAction::skip, k_nonfinite_spec.slug, describe(assessment, rising));
  }

  void serialize(core::StateArchive& archive) override {
    archive.field(in_a_row_);
    recent_.serialize(archive);
  }

 private:
  std::string describe(const StepAssessment& assessment, bool rising) const {
    std::string text;
    if (assessment.loss.given && !assessment.loss.finite) {
      text = fmt::format("loss is {}", core::show_number(assessment.loss.value));
    } else {
      text = fmt::format("{} gradient elements are not finite", assessment.nonfinite_grads);
    }
    if (rising)
      text += fmt::format("; ALARM: {} of the last {} steps were like this", recent_.count(),
                          recent_.size());
    return text;
  }

  std::uint32_t most_in_a_row_;
  std::uint32_t in_a_row_ = 0;
  RecentShare recent_;
};

}  // namespace

std::unique_ptr<Policy> make_nonfinite_policy(const GuardOptions& options) {
  return options.skip_nonfinite ? std::make_unique<Nonfinite>(options) : nullptr;
}

}  // namespace aplomb::guard
