#include "train/loop/schedule_plan.h"

#include <algorithm>
#include <cmath>

namespace aplomb::train::loop {

StepCounts step_counts(const LengthFlags& length, std::int64_t batches_per_epoch,
                       std::int64_t accumulation) {
  StepCounts counts;
  counts.per_epoch =
      std::max<std::int64_t>((batches_per_epoch + accumulation - 1) / accumulation, 1);
  counts.total = length.max_steps > 0
                     ? length.max_steps
                     : static_cast<std::int64_t>(
                           std::ceil(length.num_epochs * static_cast<double>(counts.per_epoch)));
  counts.total = std::max<std::int64_t>(counts.total, 1);
  return counts;
}

std::int64_t warmup_steps(const OptimFlags& optim, std::int64_t total_steps) {
  if (optim.warmup_steps >= 0) return optim.warmup_steps;
  return static_cast<std::int64_t>(
      std::ceil(optim.warmup_ratio * static_cast<double>(total_steps)));
}

}  // namespace aplomb::train::loop
