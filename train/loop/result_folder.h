#pragma once
/// The result of a run: `adapter/` (a PEFT folder) or `model/` in the output folder, with the
/// tokenizer; `merged/` beside it where that is asked for.

#include <string>

#include "train/loop/llama_trainee.h"

namespace aplomb::train::loop {

/// Gives the path. What stood there is replaced in one step.
core::Result<std::string> save_result(LlamaTrainee& trainee, const TrainOptions& options);

}  // namespace aplomb::train::loop
