/// The user's own clipping: by the global norm here, by each group's where the core applies it.

#include "guard/clip_norm.h"

#include <cmath>

#include "guard/policy.h"

namespace aplomb::guard {
namespace {

constexpr PolicySpec k_clip_norm_spec{
    "clip_norm", "clips the gradients at the user's max_norm, all together or group by group",
    "torch.nn.utils.clip_grad_norm_; per module: Brock et al. 2021, arXiv 2102.06171"};

class ClipNorm final : public Policy {
 public:
  explicit ClipNorm(double max_norm) : max_norm_(max_norm) {}
  const PolicySpec& spec() const override { return k_clip_norm_spec; }

  void judge(const GuardStep&, const StepAssessment& assessment, Decision& decision) override {
    if (assessment.norm.finite)
      decision.clip(clip_scale_for(max_norm_, assessment.norm.value), {}, {});
  }
  void serialize(core::StateArchive&) override {}

 private:
  double max_norm_;
};

}  // namespace

bool clip_groups(const GuardStep& step, double max_norm, std::span<double> scales) {
  bool any = false;
  for (std::size_t i = 0; i < step.groups.size(); ++i) {
    const double norm = std::sqrt(step.groups[i].sum_squares) / gradient_scale(step);
    scales[i] = clip_scale_for(max_norm, norm);
    any = any || scales[i] < 1;
  }
  return any;
}

std::unique_ptr<Policy> make_clip_norm_policy(const GuardOptions& options) {
  return options.max_norm > 0 ? std::make_unique<ClipNorm>(options.max_norm) : nullptr;
}

}  // namespace aplomb::guard
