// What is asked of a Checkpoint once it is open.

#include <charconv>
#include <filesystem>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

const CheckpointFile* Checkpoint::file(FileRole role) const {
  for (const CheckpointFile& each : files) {
    if (each.role == role && each.readable) return &each;
  }
  return nullptr;
}

const tensors::Tensor* Checkpoint::tensor(std::string_view name) const {
  for (const tensors::Tensor& each : tensors) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::optional<std::int64_t> Checkpoint::step() const {
  const auto stated = trainer_state.find("global_step");
  if (stated != trainer_state.end()) return static_cast<std::int64_t>(stated->second);
  const std::string name = std::filesystem::path(path).filename().string();
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  std::int64_t step = 0;
  const bool numbered = at > 0 && at < name.size() && (name[at - 1] == '-' || name[at - 1] == '_');
  if (numbered &&
      std::from_chars(name.data() + at, name.data() + name.size(), step).ec == std::errc()) {
    return step;
  }
  const auto last = scheduler.find("last_epoch");
  if (last != scheduler.end()) return static_cast<std::int64_t>(last->second);
  return std::nullopt;
}

std::uint64_t Checkpoint::weight_bytes() const {
  std::uint64_t sum = 0;
  for (const tensors::Tensor& each : tensors) {
    sum += tensors::stored_bytes(each);
  }
  return sum;
}

}  // namespace aplomb::checkpoint
