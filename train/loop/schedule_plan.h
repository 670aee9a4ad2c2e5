#pragma once
/// How many optimizer steps a run takes, and how many of them warm up.

#include <cstdint>

#include "train/loop/options.h"

namespace aplomb::train::loop {

/// A run's steps, from batches (of one rank) an epoch and passes a step. The last step of an epoch
/// may have fewer passes: steps do not reach across epochs, as in transformers' Trainer.
struct StepCounts {
  std::int64_t per_epoch = 1;
  std::int64_t total = 1;
};
StepCounts step_counts(const LengthFlags& length, std::int64_t batches_per_epoch,
                       std::int64_t accumulation);

std::int64_t warmup_steps(const OptimFlags& optim, std::int64_t total_steps);

}  // namespace aplomb::train::loop
