#pragma once
/// TrainingState: what a run knows beside tensors: training_state.json of a checkpoint.

#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"
#include "train/text/batch_stream.h"

namespace aplomb::train::loop {

struct TrainingState {
  std::int64_t step = 0;         ///< optimizer steps taken
  std::int64_t total_steps = 0;  ///< of the schedule
  text::DataPosition data;       ///< of the next micro-batch, of rank 0 (the same on every rank)
  std::uint64_t data_fingerprint = 0;
  std::int64_t world = 1;
  double loss_scale = 1;           ///< by which the next loss is multiplied (fp16)
  std::int64_t skipped_steps = 0;  ///< not taken, by the guard's verdict
  std::int64_t best_step = -1;     ///< of the best evaluation; -1: none
  double best_eval_loss = 0;
  std::int64_t evals_since_best = 0;
  double window_loss = 0;  ///< sum of the losses since the last record, and their number
  std::int64_t window_steps = 0;
  std::string attention;             ///< rung of the ladder in force; empty: none
  std::int64_t attention_steps = 0;  ///< taken on it
  bool attention_settled = false;
  std::string guard;                       ///< bytes of Guard::save(); empty: no guard
  std::map<std::string, std::string> rng;  ///< bytes by device: `cpu`, `cuda:0`

  bool operator==(const TrainingState&) const = default;
};

std::string training_state_json(const TrainingState& state);
/// Errors: not_readable, bad_format. `path` is the file.
core::Result<TrainingState> read_training_state(const std::string& path);

}  // namespace aplomb::train::loop
