#pragma once
/// Which files belong to one run, told from where they lie: what trainers put below an output
/// folder (checkpoints, TensorBoard's `runs/`, Lightning's `version_N`, W&B's `run-*`, MLflow's
/// `mlruns`, torchrun's `attempt_0/3`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::discovery {

struct Place {
  std::string run_folder;  ///< the output folder that the file belongs to
  std::string launch;  ///< below it, the folder of one start of the program (`runs/Aug02_10-00`);
                       ///< empty: none
  int rank = -1;       ///< of a file that one rank wrote
  std::optional<std::int64_t> checkpoint;  ///< the step of the checkpoint folder that it lies in
};

/// `root`: the folder that was searched; the run folder is never above it. Empty: a file named by
/// the user.
Place place_of(std::string_view path, std::string_view root);

/// Sorts files into runs: indices into `places`, each run's in the given order. Launches of one
/// output folder are runs of their own where there are several, unless the output folder itself
/// holds what all of them wrote on (checkpoints or a trainer state: then they are one run that was
/// resumed).
struct RunFiles {
  std::string name;  ///< the folder
  std::vector<std::size_t> files;
};
std::vector<RunFiles> group_into_runs(const std::vector<std::string>& paths,
                                      std::vector<Place> places);

}  // namespace aplomb::discovery
