#pragma once
/// When the run itself is in trouble, and not one batch: shared by the policies that answer to it.

#include "guard/step_assessment.h"

namespace aplomb::guard {

/// Longer than one bad batch (and than the skips that a bad batch may cost): as the detector
/// loss.spike's `sustained`.
inline constexpr std::uint32_t k_sustained_run = 3;
/// So long a loss far above its level is no spike any more; RobustTrend adopts the level at 12.
inline constexpr std::uint32_t k_lasting_run = 8;
/// x the level, as the policy `spike`.
inline constexpr double k_trouble_ratio = 1.5;

/// The loss has just been far up for k_sustained_run steps. True once a row.
inline bool just_sustained(const StepAssessment& assessment) {
  return assessment.loss_run == k_sustained_run && assessment.loss.ratio >= k_trouble_ratio;
}
inline bool just_lasting(const StepAssessment& assessment) {
  return assessment.loss_run == k_lasting_run && assessment.loss.ratio >= k_trouble_ratio;
}

}  // namespace aplomb::guard
