// Which of a run's files are checkpoints worth looking into, and how far.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "api/checkpoint_evidence.h"
#include "core/text.h"
#include "discovery/file_search.h"

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string path;  ///< of one file where that alone was named
  std::uint64_t bytes = 0;
  record::SourceId first = 0;
};

/// The checkpoint that a folder of shards is a part of. `pytorch_model_fsdp_0` and `optimizer_0` of
/// accelerate always are one's; DeepSpeed's `global_step500` is where it stands alone (in the
/// Trainer's checkpoint-500) and a checkpoint of its own beside others of its kind.
fs::path checkpoint_of(const fs::path& folder, const std::map<fs::path, std::size_t>& steps_in) {
  const std::string name = folder.filename().string();
  const bool part = name.starts_with("pytorch_model_fsdp") || name.starts_with("optimizer_");
  const auto steps = steps_in.find(folder.parent_path());
  const bool lone_step =
      name.starts_with("global_step") && steps != steps_in.end() && steps->second == 1;
  return part || lone_step ? folder.parent_path() : folder;
}

std::map<fs::path, std::size_t> count_steps(const record::Run& run) {
  std::set<fs::path> steps;
  for (const record::Source& source : run.sources) {
    const fs::path folder = fs::path(source.path).parent_path();
    if (folder.filename().string().starts_with("global_step")) steps.insert(folder);
  }
  std::map<fs::path, std::size_t> counts;
  for (const fs::path& each : steps) ++counts[each.parent_path()];
  return counts;
}

/// The folders that hold checkpoint files, `checkpoint-900` before `checkpoint-1000`, with the
/// bytes of what would be read.
std::vector<Folder> folders_of(const record::Run& run, const std::vector<std::string>& named) {
  std::map<std::string, Folder> found;
  std::map<std::string, std::size_t> files;
  const auto steps_in = count_steps(run);
  for (std::size_t i = 0; i < run.sources.size(); ++i) {
    const record::Source& source = run.sources[i];
    if (source.kind != "checkpoint") continue;
    const std::string path = checkpoint_of(fs::path(source.path).parent_path(), steps_in).string();
    const auto [at, fresh] = found.emplace(path, Folder{path, 0, static_cast<record::SourceId>(i)});
    at->second.bytes += source.bytes;
    // One file that was named is judged alone: what lies beside it was not asked for.
    const bool alone =
        ++files[path] == 1 && std::find(named.begin(), named.end(), source.path) != named.end();
    at->second.path = alone ? source.path : path;
  }
  std::vector<Folder> folders;
  for (auto& [path, folder] : found) {
    if (checkpoint::is_checkpoint_path(path.empty() ? "." : path))
      folders.push_back(std::move(folder));
  }
  std::sort(folders.begin(), folders.end(), [](const Folder& a, const Folder& b) {
    return discovery::natural_less(a.path, b.path);
  });
  return folders;
}

/// `out/checkpoint-500` and its like: a name that ends in a number, so its neighbours are moments
/// of the same run.
bool is_numbered(const Folder& folder) {
  const std::string name = fs::path(folder.path).filename().string();
  return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

fs::path parent(const Folder& folder) { return fs::path(folder.path).parent_path(); }

/// `before/` and `after/`, `init/` and `step-754/`: two checkpoints side by side, of which no more
/// than one has a number.
bool is_pair(const std::vector<Folder>& folders) {
  return folders.size() == 2 && parent(folders[0]) == parent(folders[1]) &&
         !(is_numbered(folders[0]) && is_numbered(folders[1]));
}

/// Whether the second of a pair may have come of the first by training: the same tensors, of which
/// most moved, embeddings among them. An adapter that was merged into its base leaves those as they
/// were, and the last checkpoint beside the result is the same twice.
bool came_by_training(const checkpoint::CheckpointDiff& diff) {
  const checkpoint::KindDiff* embeddings = diff.of(checkpoint::TensorKind::embedding);
  return 2 * diff.frozen() < diff.trainable() && diff.only_before.empty() &&
         diff.only_after.empty() &&
         (embeddings == nullptr || embeddings->frozen < embeddings->tensors);
}

/// The newest one or two of one parent folder; a folder without a number stands alone, or beside one
/// other.
std::vector<Folder> newest(std::vector<Folder> folders) {
  if (is_pair(folders)) {
    std::stable_partition(folders.begin(), folders.end(),
                          [](const Folder& each) { return !is_numbered(each); });
    return folders;
  }
  std::vector<Folder> numbered;
  std::copy_if(folders.begin(), folders.end(), std::back_inserter(numbered), is_numbered);
  if (numbered.empty()) return folders.size() == 1 ? folders : std::vector<Folder>{};
  std::vector<Folder> chosen;
  for (auto each = numbered.rbegin(); each != numbered.rend() && chosen.size() < 2; ++each) {
    if (chosen.empty() || parent(*each) == parent(chosen.front())) chosen.push_back(*each);
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

void skip(record::Run& run, const Folder& folder, std::uint64_t bytes) {
  run.defects.push_back(
      {folder.first, 0, "not-looked-into", core::Severity::note,
       fmt::format("[checkpoint] {} of tensors were not looked into here; `aplomb ckpt diff A B` "
                   "and `aplomb ckpt precision {}` do",
                   core::show_bytes(static_cast<double>(bytes)), folder.path)});
}

}  // namespace

void add_checkpoint_evidence(record::Run& run, std::vector<detectors::Symptom>& symptoms,
                             const std::vector<std::string>& named) {
  std::vector<Folder> chosen = newest(folders_of(run, named));
  const bool pair = is_pair(chosen);
  while (!chosen.empty()) {
    std::uint64_t bytes = 0;
    for (const Folder& each : chosen) bytes += each.bytes;
    if (bytes <= k_most_checkpoint_bytes) break;
    if (chosen.size() == 1) skip(run, chosen.front(), bytes);
    chosen.erase(chosen.begin());
  }
  std::vector<checkpoint::Checkpoint> open;
  CheckpointEvidence evidence(run, symptoms);
  for (const Folder& folder : chosen) {
    auto checkpoint = checkpoint::open_checkpoint(folder.path.empty() ? "." : folder.path);
    if (checkpoint) {
      open.push_back(std::move(*checkpoint));
    } else {
      run.defects.push_back(
          {folder.first, 0, "unreadable", core::Severity::warning, checkpoint.error().text});
    }
  }
  std::optional<checkpoint::CheckpointDiff> moved;
  if (open.size() == 2) moved = checkpoint::diff_checkpoints(open[0], open[1]);
  if (pair && moved && !came_by_training(*moved)) {
    moved.reset();  // two models that have nothing to do with each other
    open.erase(open.begin());
    if (!is_numbered(chosen.back())) open.clear();
  }
  if (open.empty()) return;
  for (const checkpoint::Checkpoint& each : open) evidence.files(each);
  evidence.survey(open.back(), survey(open.back()));
  if (moved) evidence.diff(open[0], open[1], *moved);
  evidence.precision(open.back(), checkpoint::predict_precision(open.back()));
  for (const checkpoint::Checkpoint& each : open) evidence.changes(each);
  std::stable_sort(symptoms.begin(), symptoms.end(),
                   [](const detectors::Symptom& a, const detectors::Symptom& b) {
                     return a.severity != b.severity ? a.severity > b.severity
                                                     : a.first_step < b.first_step;
                   });
}

}  // namespace aplomb::api
