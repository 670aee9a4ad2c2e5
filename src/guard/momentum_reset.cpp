/// After a spike that was not averted the first moments point to where the spike threw the weights:
/// they are zeroed once.

#include <fmt/format.h>

#include "guard/policy.h"
#include "guard/trouble.h"

namespace aplomb::guard {
namespace {

constexpr std::uint64_t k_pause = 500;  // steps between two resets: SPAM's reset interval

constexpr PolicySpec k_momentum_reset_spec{
    "momentum_reset", "asks for a momentum reset when a loss spike lasts",
    "SPAM (arXiv 2501.06842) resets every 500 steps; here only where a spike was taken in"};

class MomentumReset final : public Policy {
 public:
  const PolicySpec& spec() const override { return k_momentum_reset_spec; }

  void judge(const GuardStep&, const StepAssessment& assessment, Decision& decision) override {
    if (pause_ > 0) --pause_;
    if (!just_sustained(assessment) || pause_ > 0) return;
    pause_ = k_pause;
    decision.verdict().reset_momentum = true;
    decision.alarm(k_momentum_reset_spec.slug,
                   fmt::format("the loss has stood {:.1f}x above its level for {} "
                               "steps: momentum is reset",
                               assessment.loss.ratio, assessment.loss_run));
  }
  void serialize(core::StateArchive& archive) override { archive.field(pause_); }

 private:
  std::uint64_t pause_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_momentum_reset_policy(const GuardOptions& options) {
  return options.reset_momentum ? std::make_unique<MomentumReset>() : nullptr;
}

}  // namespace aplomb::guard
