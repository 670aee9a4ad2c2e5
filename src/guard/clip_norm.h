#pragma once
/// The arithmetic of norm clipping, as torch.nn.utils.clip_grad_norm_ documents it:
/// scale = max_norm / (norm + 1e-6), never above 1.

#include <aplomb/guard.h>

#include <algorithm>
#include <span>

namespace aplomb::guard {

inline double clip_scale_for(double max_norm, double norm) {
  constexpr double k_epsilon = 1e-6;
  return max_norm > 0 ? std::min(1.0, max_norm / (norm + k_epsilon)) : 1.0;
}

/// By what the gradients of `step.groups` are still multiplied.
inline double gradient_scale(const GuardStep& step) {
  return step.unscaled || !(step.loss_scale > 0) ? 1.0 : step.loss_scale;
}

/// One factor a group; true where any of them is below 1.
bool clip_groups(const GuardStep& step, double max_norm, std::span<double> scales);

}  // namespace aplomb::guard
