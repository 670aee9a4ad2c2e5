#pragma once
/// The optimizer's state as a file that `aplomb ckpt optimizer`, `precision` and `resume` read:
/// safetensors whose metadata says so, parameters under the names of the weights' file
/// (checkpoint/own_files.h).

#include <string>

#include "core/result.h"
#include "train/loop/optimizer.h"
#include "train/loop/trainee.h"

namespace aplomb::train::loop {

/// `factor`: of the schedule, at the next step. Errors: not_writable.
core::Result<void> save_optimizer(const std::string& path, Optimizer& optimizer,
                                  const Trainee& trainee, double factor);
/// All of it or nothing. Errors: not_readable, bad_format (of another model or other options).
core::Result<void> load_optimizer(const std::string& path, Optimizer& optimizer,
                                  const Trainee& trainee);

}  // namespace aplomb::train::loop
