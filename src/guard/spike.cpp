/// Bad batches. A loss or a gradient that stands apart from the noise of this run costs one skipped
/// step; a gradient that is only somewhat too large is scaled down to the usual size.
///
/// Two skips in a row at most: a batch is bad once. What comes again is not the batch's fault (the
/// weights, or another mixture of data), and skipping would only keep the run from adapting.

#include <fmt/format.h>

#include "core/text.h"
#include "core/training_limits.h"
#include "guard/policy.h"

namespace aplomb::guard {
namespace {

constexpr double k_norm_ratio = 2.0;  // below it Adam's own normalisation takes care
constexpr double k_norm_plain =
    5.0;  // here 6 sigma suffice, whatever the tail: to clip costs little
constexpr double k_norm_skip = 10.0;    // Megatron-LM's rerun machine calls 10x a fault
constexpr double k_norm_target = 1.05;  // x the usual norm: AdaGC's relative threshold
constexpr std::uint32_t k_most_skips = 2;

constexpr PolicySpec k_spike_spec{
    "spike", "skips a batch whose loss or gradient stands apart, clips gradients out of the usual",
    "OLMo-core SkipStep, ZClip (arXiv 2504.02507) and AdaGC (arXiv 2502.11034), with median, "
    "quartiles and tail in place of mean and deviation"};

class Spike final : public Policy {
 public:
  const PolicySpec& spec() const override { return k_spike_spec; }

  void judge(const GuardStep&, const StepAssessment& assessment, Decision& decision) override {
    const bool large =
        (assessment.norm.spike && assessment.norm.ratio >= k_norm_ratio) ||
        (assessment.norm.z > core::RobustTrend::k_outlier && assessment.norm.ratio >= k_norm_plain);
    if (bad_batch(assessment) && in_a_row_ < k_most_skips) {
      decision.raise(GuardAction::skip, k_spike_spec.slug,
                     bad_loss(assessment) ? describe("loss", assessment.loss)
                                          : describe("gradient norm", assessment.norm));
    } else if (large) {
      decision.clip(k_norm_target * assessment.norm.level / assessment.norm.value,
                    k_spike_spec.slug, describe("gradient norm", assessment.norm));
    }
  }

  void settle(const GuardStep&, const StepAssessment& assessment,
              const GuardVerdict& verdict) override {
    if (!bad_batch(assessment)) {
      in_a_row_ = 0;
    } else if (verdict.action == GuardAction::skip && in_a_row_ < k_most_skips) {
      ++in_a_row_;
    }
  }

  void serialize(core::StateArchive& archive) override { archive.field(in_a_row_); }

 private:
  static bool bad_loss(const StepAssessment& assessment) {
    return assessment.loss.spike && assessment.loss.ratio >= core::k_spike_ratio;
  }
  static bool bad_batch(const StepAssessment& assessment) {
    return bad_loss(assessment) || (assessment.norm.spike && assessment.norm.ratio >= k_norm_skip);
  }
  static std::string describe(const char* what, const Standing& standing) {
    return fmt::format("{} {} is {}x its level {} and {:.0f} sigma above it", what,
                       core::show_number(standing.value), core::show_number(standing.ratio, 3),
                       core::show_number(standing.level), standing.z);
  }

  std::uint32_t in_a_row_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_spike_policy(const GuardOptions& options) {
  return options.spikes ? std::make_unique<Spike>() : nullptr;
}

}  // namespace aplomb::guard
