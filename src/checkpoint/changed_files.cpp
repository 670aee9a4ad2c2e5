#include "checkpoint/changed_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/text.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

/// The file itself, or one below the folder.
bool is_part(const Checkpoint& checkpoint, const std::string& path) {
  if (path == checkpoint.path || path.starts_with(checkpoint.path + "/")) return true;
  for (const CheckpointFile& each : checkpoint.files) {
    if (each.path == path) return true;
  }
  return false;
}

}  // namespace

std::vector<tensors::Finding> changed_files(const Checkpoint& checkpoint) {
  std::vector<tensors::Finding> found;
  for (const tensors::LostFile& each : tensors::lost_files()) {
    if (!is_part(checkpoint, each.path)) continue;
    found.push_back(
        {"checkpoint.lost", core::Severity::failed, each.path, each.from,
         fmt::format("[checkpoint] {}: from byte {} of {} on it could not be read any "
                     "more and counts as zeros; likely it was cut or overwritten while "
                     "it was read, or the disk fails; nothing said of these bytes holds; "
                     "look again once nobody writes it",
                     core::sanitize(each.path), each.from, each.bytes)});
  }
  for (const CheckpointFile& each : checkpoint.files) {
    std::error_code why;
    const std::uint64_t now = std::filesystem::file_size(each.path, why);
    if (!each.readable || (!why && now == each.bytes)) continue;
    const std::string what =
        why ? "is gone" : fmt::format("had {} bytes and has {} now", each.bytes, now);
    found.push_back({"checkpoint.changed", core::Severity::warning, each.path, 0,
                     fmt::format("[checkpoint] {} {}: it changed while it was read; likely a "
                                 "training writes it; look again once it is whole",
                                 core::sanitize(each.path), what)});
  }
  return found;
}

}  // namespace aplomb::checkpoint
