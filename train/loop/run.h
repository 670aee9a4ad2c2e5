#pragma once
/// A whole run of `aplomb train`: from options to a folder with log, checkpoints and result.

#include <functional>

#include "train/loop/options.h"

namespace aplomb::train::loop {

/// Exit status: 0 the run is healthy, 1 something was found, 2 it could not be run. Says everything
/// on the terminal and in the log. `wants_stop` is asked between steps.
int run_training(const TrainOptions& options, const std::function<bool()>& wants_stop);

}  // namespace aplomb::train::loop
