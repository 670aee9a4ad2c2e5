#include "discovery/run_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "core/text.h"

namespace aplomb::discovery {
namespace {

using core::is_digit;

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view leaf_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<std::int64_t> whole_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto done = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || done.ec != std::errc() || done.ptr != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

/// The number after one of the words, with at most one of `-_` between: `rank_3`, `checkpoint-900`,
/// `global_step10`.
template <std::size_t N>
std::optional<std::int64_t> numbered(std::string_view name,
                                     const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words) {
    if (name.substr(0, word.size()) != word) continue;
    std::string_view rest = name.substr(word.size());
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '_')) rest.remove_prefix(1);
    if (const auto number = whole_number(rest)) return number;
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 6> k_checkpoint_words = {
    "checkpoint", "global_step", "ckpt", "iter", "step", "epoch"};
constexpr std::array<std::string_view, 6> k_rank_words = {"rank",   "local_rank", "global_rank",
                                                          "worker", "proc",       "process"};
/// Folders that only sort the files of one run.
constexpr std::array<std::string_view, 29> k_inner = {
    "logs",    "log",     "tb",         "tensorboard", "tensorboard_logs",
    "tb_logs", "tf_logs", "tfevents",   "events",      "vis_data",
    "csv",     "train",   "training",   "validation",  "valid",
    "val",     "eval",    "evaluation", "test",        "metrics",
    "params",  "tags",    "artifacts",  "files",       "config",
    "configs", ".hydra",  "stdout",     "stderr"};

/// The first number after the word `rank` (or `worker` ...) in a file's name: `train_rank3.log`,
/// `log.rank_12.txt`.
int rank_in_name(std::string_view name) {
  const std::string folded = core::lower(name);
  for (const std::string_view word : {std::string_view("rank"), std::string_view("worker")}) {
    const std::size_t at = folded.find(word);
    if (at == std::string::npos) continue;
    std::size_t begin = at + word.size();
    if (begin < folded.size() &&
        (folded[begin] == '_' || folded[begin] == '-' || folded[begin] == '.'))
      ++begin;
    std::size_t end = begin;
    while (end < folded.size() && is_digit(folded[end])) ++end;
    if (const auto number = whole_number(std::string_view(folded).substr(begin, end - begin))) {
      if (*number < 1000000) return static_cast<int>(*number);
    }
  }
  return -1;
}

/// Whether `folder` is where one start of a program writes: a child of `runs`, of `wandb`, of
/// `lightning_logs`.
bool is_launch(std::string_view folder) {
  const std::string_view name = leaf_of(folder);
  const std::string_view above = leaf_of(parent_of(folder));
  if (above == "runs") return true;
  if (above == "wandb") return name.substr(0, 4) == "run-" || name.substr(0, 12) == "offline-run-";
  if (name.substr(0, 8) == "version_") return whole_number(name.substr(8)).has_value();
  return false;
}

/// What tells one launch from another. W&B starts a folder at every resume, under the run's own id:
/// `wandb/run-20240621_122906-qnolswhj` -> `wandb/qnolswhj`.
std::string launch_name(std::string_view folder) {
  const std::string_view name = leaf_of(folder);
  const std::size_t dash = name.rfind('-');
  if (leaf_of(parent_of(folder)) != "wandb" || dash == std::string_view::npos)
    return std::string(folder);
  return std::string(parent_of(folder)) + "/" + std::string(name.substr(dash + 1));
}

/// `attempt_0/3` of torchrun's log folder: the rank; -1 where it is none.
int torchrun_rank(std::string_view folder) {
  const std::string_view above = leaf_of(parent_of(folder));
  const auto number = whole_number(leaf_of(folder));
  return above.substr(0, 8) == "attempt_" && number && *number < 1000000 ? static_cast<int>(*number)
                                                                         : -1;
}

/// `.../mlruns/EXPERIMENT/RUN` at the head of a path; empty where there is none below `root`.
std::string_view mlflow_run(std::string_view path, std::string_view root) {
  constexpr std::string_view k_folder = "/mlruns/";
  const std::size_t at = path.rfind(k_folder);
  if (at == std::string_view::npos) return {};
  const std::size_t experiment = path.find('/', at + k_folder.size());
  if (experiment == std::string_view::npos) return {};
  const std::size_t run = path.find('/', experiment + 1);
  return run == std::string_view::npos || run < root.size() ? std::string_view()
                                                            : path.substr(0, run);
}

bool is_event_file(std::string_view path) {
  return leaf_of(path).find("tfevents") != std::string_view::npos;
}

/// PyTorch's add_scalars() writes each curve into a folder of its own below the writer's: those
/// folders are no runs. They hold event files and nothing else, and lie beside event files.
void fold_curves(const std::vector<std::string>& paths, std::vector<Place>& places) {
  std::map<std::string_view, std::size_t> event_file_in;
  std::set<std::string_view> with_others;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (is_event_file(paths[i])) {
      event_file_in.emplace(parent_of(paths[i]), i);
    } else {
      with_others.insert(parent_of(paths[i]));
    }
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string_view folder = parent_of(paths[i]);
    if (!is_event_file(paths[i]) || with_others.contains(folder)) continue;
    const auto above = event_file_in.find(parent_of(folder));
    if (above != event_file_in.end()) places[i] = Place(places[above->second]);
  }
}

}  // namespace

Place place_of(std::string_view path, std::string_view root) {
  Place place;
  if (const std::string_view run = mlflow_run(path, root); !run.empty()) {
    place.run_folder = std::string(run);
    return place;
  }
  place.rank = rank_in_name(leaf_of(path));
  std::string_view folder = parent_of(path);
  while (folder.size() > root.size()) {
    const std::string_view name = leaf_of(folder);
    const int rank_of_torchrun = torchrun_rank(folder);
    if (const auto step = numbered(name, k_checkpoint_words)) {
      if (!place.checkpoint) place.checkpoint = step;
    } else if (rank_of_torchrun >= 0) {
      place.rank = rank_of_torchrun;
      folder = parent_of(folder);
    } else if (const auto rank = numbered(name, k_rank_words)) {
      if (place.rank < 0 && *rank < 1000000) place.rank = static_cast<int>(*rank);
    } else if (is_launch(folder)) {
      if (place.launch.empty()) place.launch = launch_name(folder);
      // Lightning's loggers write <save_dir>/<name>/version_3: above the name is the output folder.
      const std::string_view above = leaf_of(parent_of(folder));
      const bool container = above == "runs" || above == "wandb" || name.substr(0, 8) == "version_";
      if (container && parent_of(folder).size() > root.size()) folder = parent_of(folder);
    } else if (!among(name, k_inner)) {
      break;
    }
    folder = parent_of(folder);
  }
  place.run_folder = std::string(folder);
  return place;
}

std::vector<RunFiles> group_into_runs(const std::vector<std::string>& paths,
                                      std::vector<Place> places) {
  fold_curves(paths, places);
  std::map<std::string, std::set<std::string>> launches;
  std::set<std::string> written_by_all;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (!place.launch.empty()) launches[place.run_folder].insert(place.launch);
    const bool state = place.checkpoint.has_value() || leaf_of(paths[i]) == "trainer_state.json";
    if (place.launch.empty() && state) written_by_all.insert(place.run_folder);
  }
  std::vector<RunFiles> runs;
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    const bool apart = !place.launch.empty() && launches[place.run_folder].size() > 1 &&
                       !written_by_all.contains(place.run_folder);
    const std::string& name = apart ? place.launch : place.run_folder;
    const auto [known, fresh] = by_name.emplace(name, runs.size());
    if (fresh) runs.push_back({name, {}});
    runs[known->second].files.push_back(i);
  }
  return runs;
}

}  // namespace aplomb::discovery
