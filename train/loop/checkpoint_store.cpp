#include "train/loop/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "train/loop/atomic_folder.h"

namespace aplomb::train::loop {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view k_prefix = "checkpoint-";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (name.rfind(k_prefix, 0) != 0) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, fault] = std::from_chars(name.data() + k_prefix.size(), end, step);
  return fault == std::errc() && stop == end && step >= 0 ? std::optional(step) : std::nullopt;
}

bool is_whole(const fs::path& folder) {
  std::error_code no_throw;
  return fs::is_regular_file(folder / k_training_state_file, no_throw);
}

}  // namespace

std::string CheckpointStore::path_of(std::int64_t step) const {
  return folder_ + "/" + std::string(k_prefix) + std::to_string(step);
}

void CheckpointStore::remove(std::int64_t step) const { remove_whole(path_of(step)); }

std::vector<std::int64_t> CheckpointStore::steps() const {
  std::vector<std::int64_t> steps;
  std::error_code why;
  for (fs::directory_iterator at(folder_, why), end; !why && at != end; at.increment(why)) {
    const auto step = step_of(at->path().filename().string());
    if (step && is_whole(at->path())) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

core::Result<std::string> CheckpointStore::save(
    std::int64_t step, std::int64_t best_step,
    const std::function<core::Result<void>(const std::string&)>& write) const {
  auto folder = AtomicFolder::begin(path_of(step));
  if (!folder) return tl::unexpected(folder.error());
  if (auto written = write(folder->path()); !written) return tl::unexpected(written.error());
  if (auto done = folder->commit(); !done) return tl::unexpected(done.error());
  prune(step, best_step);
  return path_of(step);
}

void CheckpointStore::prune(std::int64_t newest, std::int64_t best_step) const {
  if (keep_ <= 0) return;
  // After a rollback or a resume from an earlier one, later steps may stand there: they are of a
  // past that this run has left, and go first.
  std::vector<std::int64_t> all = steps();
  std::stable_partition(all.begin(), all.end(), [&](std::int64_t step) { return step > newest; });
  std::int64_t surplus = static_cast<std::int64_t>(all.size()) - keep_;
  for (const std::int64_t step : all) {
    if (surplus <= 0) break;
    --surplus;
    if (step != best_step && step != newest) remove(step);
  }
}

core::Result<std::optional<std::string>> CheckpointStore::find(const std::string& wanted) const {
  if (wanted.empty()) return std::nullopt;
  if (wanted == "auto" || wanted == "True" || wanted == "true") {
    const std::vector<std::int64_t> all = steps();
    if (all.empty()) return std::nullopt;
    return path_of(all.back());
  }
  std::error_code no_throw;
  if (!fs::is_directory(wanted, no_throw))
    return core::fail(core::ErrorCode::not_found, "[checkpoint] " + wanted + ": no such folder");
  if (!is_whole(wanted)) {
    return core::fail(core::ErrorCode::bad_format, "[checkpoint] " + wanted + " has no " +
                                                       k_training_state_file +
                                                       ": it is no checkpoint of this program");
  }
  return wanted;
}

}  // namespace aplomb::train::loop
