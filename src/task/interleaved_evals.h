#pragma once
/// Evaluations on several sets under one name:
///
///     eval length  8: loss 0.180 acc 0.917
///     eval length 20: loss 0.610 acc 0.790
///     eval length 32: loss 0.946 acc 0.703
///
/// As one series they go up and down within each step, which looks like a divergence. They become
/// one value a step: the mean over the sets.

#include "record/run.h"

namespace aplomb::task {

void merge_interleaved_evals(record::Run& run);

}  // namespace aplomb::task
