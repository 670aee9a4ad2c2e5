#pragma once
/// collect(): whatever paths the user has -> Runs. Files are read by the reader that is surest of
/// them; folders are searched; artifacts of one run (a log beside its trainer_state.json, event
/// files, checkpoints of the same output folder) become one Run, runs in different folders become
/// several.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/assemble.h"
#include "discovery/file_search.h"
#include "discovery/run_layout.h"
#include "record/run.h"
#include "sources/reader.h"

namespace aplomb::discovery {

struct CollectOptions {
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress = {};
  std::size_t most_files = 20000;  ///< below one folder; further ones are counted and said
  std::function<bool(std::string_view name)> leaves_out = {};  ///< names of files not read
  bool follow_links = false;         ///< symbolic links that lead out of a folder
  std::uint64_t most_log_bytes = 0;  ///< of one log; a larger one is sampled. 0: all of it is read
};

/// Never fails as a whole: a path that cannot be read is a Run's Source of kind `unknown` with a
/// Defect.
std::vector<record::Run> collect(const std::vector<std::string>& paths,
                                 const CollectOptions& options);

/// The steps of collect(), for those who read files as they grow (src/live).

/// One file that may hold parts of a run.
struct Artifact {
  FoundFile file;
  Place place;
  std::string trouble;  ///< why it cannot be read; empty where nothing is known against it
  bool named = false;   ///< by the user, not found by searching
};

/// The files of one run folder.
struct RunArtifacts {
  std::string name;
  std::vector<Artifact> files;
};
std::vector<RunArtifacts> find_artifacts(const std::vector<std::string>& paths,
                                         const CollectOptions& options);

/// Reads one of them whole, by the surest reader.
Fragment read_artifact(const Artifact& artifact, const std::string& folder);
/// Null where none wants it.
const sources::Reader* surest_reader(const sources::Sniff& artifact);

/// assemble(), and what follows from the settings of each run.
std::vector<record::Run> runs_of(std::vector<Fragment> fragments);

}  // namespace aplomb::discovery
