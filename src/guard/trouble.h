#pragma once
/// When the run itself is in trouble, and not one batch: shared by the policies that answer to it.

#include "core/training_limits.h"
#include "guard/step_assessment.h"

namespace aplomb::guard {

using core::k_sustained_run;
/// So long a loss far above its level is no spike any more; RobustTrend adopts the level at 12.
inline constexpr std::uint32_t k_lasting_run = 8;

/// The loss has just been far up for k_sustained_run steps. True once a row.
inline bool just_sustained(const StepAssessment& assessment) {
  return assessment.loss_run == k_sustained_run && assessment.loss.ratio >= core::k_spike_ratio;
}
inline bool just_lasting(const StepAssessment& assessment) {
  return assessment.loss_run == k_lasting_run && assessment.loss.ratio >= core::k_spike_ratio;
}

}  // namespace aplomb::guard
