#pragma once
/// What a run was told, in the canonical settings of knowledge/settings.yaml: what the rules of
/// `aplomb check` and the model of `aplomb plan` judge.

#include <vector>

#include "record/run.h"
#include "train/loop/options.h"
#include "train/model/model_config.h"

namespace aplomb::train::loop {

/// What is known only when data and device are.
struct RunSizes {
  std::uint64_t samples = 0;
  std::uint64_t eval_samples = 0;
  std::int64_t total_steps = 0;
  std::int64_t longest = 0;  ///< tokens of the longest sample
  std::int64_t pad_id = -1;
  std::int64_t eos_id = -1;
  std::int64_t world = 1;
  std::string compute = "fp32";  ///< fp32 | bf16 | fp16
  bool on_gpu = false;
  bool tf32 = false;  ///< of a GPU that has it
  std::string gpu;    ///< the card's name; empty: none, or not known
};

std::vector<record::Setting> canonical_settings(const TrainOptions& options,
                                                const model::ModelConfig& model,
                                                const RunSizes& sizes);

}  // namespace aplomb::train::loop
