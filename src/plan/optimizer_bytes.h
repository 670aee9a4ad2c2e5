#pragma once
/// What optimizers keep, in bytes, and what a step of theirs needs in passing.

#include "plan/training.h"
#include "plan/weights.h"

namespace aplomb::plan {

struct OptimizerBytes {
  double moments = 0;  ///< on all ranks together
  double master = 0;   ///< fp32 weights beside 16-bit ones
  double passing = 0;  ///< while it steps
};

OptimizerBytes optimizer_bytes(const Training& training, const Weights& weights);

}  // namespace aplomb::plan
