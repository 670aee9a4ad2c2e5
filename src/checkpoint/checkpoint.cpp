#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/folder_audit.h"
#include "checkpoint/safetensors.h"
#include "core/inside_folder.h"
#include "core/memory_budget.h"
#include "core/text.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_files = 10'000;
constexpr std::size_t k_most_parts = 64;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code why;
  for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (!at->is_regular_file(none) || names.size() >= k_most_files) continue;
    if (at->is_symlink(none) && core::leads_outside(folder.string(), at->path().string())) continue;
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The step folder that DeepSpeed's `latest` names, or the one with the largest number.
std::string newest_step(const fs::path& folder, std::vector<std::string> steps) {
  if (const auto latest = tensors::MappedFile::open((folder / "latest").string())) {
    const std::string named(core::trim((*latest)->text().substr(0, 256)));
    if (std::find(steps.begin(), steps.end(), named) != steps.end()) return named;
  }
  return *std::max_element(steps.begin(), steps.end(),
                           [](const std::string& a, const std::string& b) {
                             return a.size() != b.size() ? a.size() < b.size() : a < b;
                           });
}

/// Which of a folder's files hold its weights: those of an index; else every safetensors file; else
/// the pickled ones. Adapters stand beside them.
class FolderWeights {
 public:
  FolderWeights(const fs::path& folder, const std::vector<std::string>& names, Opening& opening)
      : folder_(folder), names_(names), opening_(opening) {}

  std::vector<std::string> choose() {
    for (const char* ending : {".safetensors", ".bin"}) {
      std::vector<std::string> indexed = from_index(ending);
      if (!indexed.empty()) return indexed;
      std::vector<std::string> all;
      for (const std::string& name : names_) {
        const bool fits = std::string_view(ending) == ".safetensors"
                              ? name.ends_with(ending)
                              : !name.ends_with(".safetensors");
        if (fits && role_of_file(name) == FileRole::weights) all.push_back(name);
      }
      if (!all.empty()) return all;
    }
    return {};
  }

 private:
  std::vector<std::string> from_index(const std::string& ending) {
    for (const std::string& name : names_) {
      if (!name.ends_with(ending + ".index.json")) continue;
      const std::string path = (folder_ / name).string();
      auto mapped = tensors::MappedFile::open(path);
      auto index = mapped ? read_shard_index((*mapped)->text(), path)
                          : core::Result<ShardIndex>(tl::unexpected(mapped.error()));
      if (!index) {
        opening_.note("checkpoint.unreadable", core::Severity::failed, path, index.error().text);
        continue;
      }
      opening_.join(index->findings);
      return present(*index, path);
    }
    return {};
  }

  std::vector<std::string> present(const ShardIndex& index, const std::string& path) {
    std::vector<std::string> files;
    for (const std::string& file : index.files) {
      if (std::find(names_.begin(), names_.end(), file) != names_.end()) {
        files.push_back(file);
        continue;
      }
      opening_.note("checkpoint.incomplete", core::Severity::failed, path,
                    fmt::format("[checkpoint] the shard {} that the index names is not there",
                                core::shorten(core::sanitize(file), 120)));
    }
    return files;
  }

  const fs::path& folder_;
  const std::vector<std::string>& names_;
  Opening& opening_;
};

/// Folders that hold the parts of one checkpoint: `global_step500` that DeepSpeed's `latest` names,
/// `pytorch_model_fsdp_0` and `optimizer_0` of accelerate. Sorted; symbolic links are not followed.
std::vector<std::string> part_folders(const fs::path& folder) {
  std::vector<std::string> steps;
  std::vector<std::string> parts;
  std::error_code why;
  for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (at->is_symlink(none) || !at->is_directory(none)) continue;
    const std::string name = at->path().filename().string();
    if (name.starts_with("global_step")) steps.push_back(name);
    const bool fsdp = name.starts_with("pytorch_model_fsdp") || name.starts_with("optimizer_");
    if (fsdp && parts.size() < k_most_parts) parts.push_back(name);
  }
  std::sort(parts.begin(), parts.end());
  if (!steps.empty()) parts.push_back(newest_step(folder, steps));
  return parts;
}

bool is_shard(const std::string& name) {
  const auto& formats = checkpoint_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const auto& format) { return format->is_shard(name); });
}

/// Shards of all kinds in one folder; whether there are any.
bool open_shards(Opening& opening, const fs::path& folder, const std::vector<std::string>& names) {
  bool any = false;
  for (const auto& format : checkpoint_formats()) {
    const bool here = std::any_of(names.begin(), names.end(),
                                  [&](const std::string& name) { return format->is_shard(name); });
    if (here) format->read_shards(opening, folder.string(), names);
    any = any || here;
  }
  return any;
}

/// Whether open_folder() reads a file of this role by itself.
bool stands_alone(FileRole role) {
  return role != FileRole::other && role != FileRole::weights && role != FileRole::adapter &&
         role != FileRole::index;
}

void open_folder(const fs::path& folder, bool verify, Checkpoint& out) {
  Opening opening(out, verify);
  const std::vector<std::string> names = names_in(folder);
  bool sharded = open_shards(opening, folder, names);
  for (const std::string& part : part_folders(folder)) {
    sharded = open_shards(opening, folder / part, names_in(folder / part)) || sharded;
  }
  // Shards hold the weights that training goes on from; a file beside them is a 16-bit copy.
  std::vector<std::string> weights;
  if (!sharded || out.tensors.empty()) weights = FolderWeights(folder, names, opening).choose();
  for (const std::string& name : weights) {
    if (!is_shard(name)) open_file(opening, (folder / name).string(), FileRole::weights);
  }
  std::set<std::string> adapters;
  for (const std::string& name : names) {
    const FileRole role = role_of_file(name);
    if (role == FileRole::adapter) adapters.insert(name);
    if (stands_alone(role)) open_file(opening, (folder / name).string(), role);
  }
  // adapter_model.safetensors before .bin where both stand there (conversion leaves both).
  if (!adapters.empty()) {
    open_file(opening, (folder / *adapters.rbegin()).string(), FileRole::adapter);
    out.is_adapter = weights.empty() && !sharded;
  }
  opening.finish(false);
}

}  // namespace

bool is_checkpoint_path(const std::string& path) {
  std::error_code why;
  if (!fs::is_directory(path, why))
    return role_of_file(fs::path(path).filename().string()) != FileRole::other;
  const std::vector<std::string> names = names_in(path);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) {
                       const FileRole role = role_of_file(name);
                       return role == FileRole::weights || role == FileRole::adapter ||
                              role == FileRole::optimizer || is_shard(name);
                     }) ||
         !part_folders(path).empty();
}

namespace {

core::Result<Checkpoint> open_known(const std::string& path, bool verify) {
  Checkpoint out;
  out.path = path;
  std::error_code why;
  if (fs::is_directory(path, why)) {
    open_folder(path, verify, out);
    const bool told = audit_folder(path, {}, out.findings);
    // A configuration beside them is no checkpoint by itself.
    const bool only_described =
        std::all_of(out.files.begin(), out.files.end(), [](const CheckpointFile& each) {
          return each.role == FileRole::config || each.role == FileRole::other;
        });
    if (only_described && out.tensors.empty() && out.findings.empty() && !told) {
      return core::fail(
          core::ErrorCode::not_found,
          fmt::format(
              "[checkpoint] {} holds no weights and no optimizer state (*.safetensors, *.bin, "
              "*.pt, optimizer.pt ...); name the folder that has them",
              path));
    }
  } else {
    const FileRole role = role_of_file(fs::path(path).filename().string());
    Opening opening(out, verify);
    open_file(opening, path, role == FileRole::other ? FileRole::weights : role);
    opening.finish(true);
    static_cast<void>(audit_file(path, out.findings));  // one that does not open is told above
  }
  const bool any = std::any_of(out.files.begin(), out.files.end(),
                               [](const CheckpointFile& file) { return file.readable; });
  const bool judged =
      std::any_of(out.findings.begin(), out.findings.end(), [](const tensors::Finding& each) {
        return each.kind.starts_with("pickle.") || each.kind.starts_with("code.");
      });
  if (!any && !judged && !out.findings.empty()) {
    const tensors::Finding& first = out.findings.front();
    return core::fail(first.kind == "checkpoint.unsupported" ? core::ErrorCode::unsupported
                                                             : core::ErrorCode::bad_format,
                      first.text);
  }
  return out;
}

}  // namespace

core::Result<Checkpoint> open_checkpoint(const std::string& path, bool verify) {
  try {
    return open_known(path, verify);
  } catch (const std::bad_alloc&) {
    return core::fail(core::ErrorCode::too_large,
                      fmt::format("[checkpoint] {} was left out: {}", path, core::why_left_out()));
  }
}

}  // namespace aplomb::checkpoint
