#pragma once
/// collect(): whatever paths the user has -> Runs. Files are read by the reader that is surest of
/// them; folders are searched; artifacts of one run (a log beside its trainer_state.json, event
/// files, checkpoints of the same output folder) become one Run, runs in different folders become
/// several.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/run.h"

namespace aplomb::discovery {

struct CollectOptions {
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress = {};
  std::size_t most_files = 20000;  ///< below one folder; further ones are counted and said
  std::function<bool(std::string_view name)> leaves_out = {};  ///< names of files not read
  bool follow_links = false;  ///< symbolic links that lead out of a folder
};

/// Never fails as a whole: a path that cannot be read is a Run's Source of kind `unknown` with a
/// Defect.
std::vector<record::Run> collect(const std::vector<std::string>& paths,
                                 const CollectOptions& options);

}  // namespace aplomb::discovery
