#pragma once
/// Statistics of the gradients for the guard, in one pass: by the scan where they lie in host
/// memory, else by the device's own norms.

#include <ATen/ATen.h>
#include <aplomb/guard.h>

#include <vector>

#include "train/loop/optimizer.h"

namespace aplomb::train::loop {

/// One group a parameter, in their order; a parameter without a gradient counts as zeros.
class GradientScan {
 public:
  explicit GradientScan(int threads) : threads_(threads) {}
  std::span<const GuardGroup> read(const std::vector<NamedTensor>& parameters);

 private:
  void read_on_device(const std::vector<NamedTensor>& parameters);

  int threads_;
  std::vector<GuardGroup> groups_;
};

/// Multiplies all gradients by `scale`, each parameter's also by its entry of `group_scales` (if
/// there are some).
void scale_gradients(const std::vector<NamedTensor>& parameters, double scale,
                     std::span<const double> group_scales);

}  // namespace aplomb::train::loop
