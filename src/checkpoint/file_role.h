#pragma once
/// What a file of a checkpoint is there for.

#include <string_view>

namespace aplomb::checkpoint {

enum class FileRole {
  weights,
  adapter,
  optimizer,
  scheduler,
  scaler,
  rng,
  data,  ///< of the sampler or the data loader
  trainer_state,
  arguments,
  config,
  index,  ///< of the shards
  other,
};

/// Told from a file's name.
FileRole role_of_file(std::string_view name);

}  // namespace aplomb::checkpoint
