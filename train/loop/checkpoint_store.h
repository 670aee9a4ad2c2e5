#pragma once
/// CheckpointStore: the checkpoints of one output folder, `checkpoint-<step>`. Each is there as a
/// whole or not at all (atomic_folder.h); the latest N and the best stay.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::train::loop {

class CheckpointStore {
 public:
  /// `keep`: how many of the latest stay; 0: all.
  CheckpointStore(std::string folder, std::int64_t keep)
      : folder_(std::move(folder)), keep_(keep) {}

  /// Writes checkpoint-<step> by `write`, which gets the folder to write into; then removes those
  /// that are neither among the latest nor of `best_step`. Where writing fails, every earlier
  /// checkpoint stays. Gives the path.
  core::Result<std::string> save(
      std::int64_t step, std::int64_t best_step,
      const std::function<core::Result<void>(const std::string&)>& write) const;

  /// Steps of the whole checkpoints, rising.
  std::vector<std::int64_t> steps() const;
  std::string path_of(std::int64_t step) const;
  void remove(std::int64_t step) const;

  /// What `--resume-from-checkpoint` names: a folder, or `auto`: the latest, nothing where there is
  /// none.
  core::Result<std::optional<std::string>> find(const std::string& wanted) const;

 private:
  void prune(std::int64_t newest, std::int64_t best_step) const;

  std::string folder_;
  std::int64_t keep_;
};

/// Name of the file that makes a folder a checkpoint.
inline constexpr const char* k_training_state_file = "training_state.json";
/// A safetensors file by content (optimizer_file.h); not by name, so that nobody takes moments for
/// weights.
inline constexpr const char* k_optimizer_file = "optimizer.state";

}  // namespace aplomb::train::loop
