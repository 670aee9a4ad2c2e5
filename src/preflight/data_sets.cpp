#include "preflight/data_sets.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/letters.h"
#include "core/text.h"

namespace aplomb::preflight {
namespace {

std::string_view file_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string_view folder_part(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `train-00000-of-00004.parquet` without its number: `train-*-of-00004.parquet`; the name itself
/// where it has none.
std::string without_shard(std::string_view path) {
  const std::size_t of = path.rfind("-of-");
  const std::size_t dash = of == std::string_view::npos ? of : path.rfind('-', of - 1);
  if (dash == std::string_view::npos || of == 0 || !is_digits(path.substr(dash + 1, of - dash - 1)))
    return std::string(path);
  return std::string(path.substr(0, dash)) + "-*" + std::string(path.substr(of));
}

/// Whether the folder is what save_to_disk() of datasets leaves.
bool is_saved_dataset(std::string_view folder) {
  std::error_code no_throw;
  return std::filesystem::exists(std::filesystem::path(folder) / "state.json", no_throw) &&
         std::filesystem::exists(std::filesystem::path(folder) / "dataset_info.json", no_throw);
}

bool names_held_out(std::string_view name) {
  static constexpr std::array<std::string_view, 10> k_words = {
      "eval", "evaluation", "valid", "validation", "val",
      "test", "testing",    "dev",   "heldout",    "holdout"};
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && core::is_letter(name[end])) ++end;
    const std::string word = core::lower(name.substr(at, end - at));
    if (std::find(k_words.begin(), k_words.end(), word) != k_words.end()) return true;
    at = end + 1;
  }
  return false;
}

/// Held out, by a word of its name; by its folder's where the name says nothing
/// (`test/0000.parquet`).
bool is_held_out(std::string_view path) {
  const std::string_view name = file_part(path);
  const std::string_view stem = name.substr(0, name.find_first_of(".-_"));
  const bool says_nothing = is_digits(stem) || stem == "data" || stem == "part" || stem == "shard";
  return names_held_out(name) || (says_nothing && names_held_out(file_part(folder_part(path))));
}

std::string set_of(const std::string& path, DataSyntax syntax) {
  if (syntax != DataSyntax::columns) return path;
  const std::string folder(folder_part(path));
  return !folder.empty() && is_saved_dataset(folder) ? folder : without_shard(path);
}

}  // namespace

std::uint64_t DataSet::bytes() const {
  std::uint64_t all = 0;
  for (const std::string& file : files) {
    std::error_code no_throw;
    const auto size = std::filesystem::file_size(file, no_throw);
    if (!no_throw) all += size;
  }
  return all;
}

std::optional<DataSyntax> data_syntax(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  }
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return DataSyntax::json_lines;
  if (path.ends_with(".json")) return DataSyntax::json_array;
  if (path.ends_with(".csv")) return DataSyntax::csv;
  if (path.ends_with(".tsv")) return DataSyntax::tsv;
  if (path.ends_with(".parquet") || path.ends_with(".arrow") || path.ends_with(".feather"))
    return DataSyntax::columns;
  if (path.ends_with(".bin")) return DataSyntax::tokens;
  return std::nullopt;
}

std::vector<DataSet> data_sets(const std::vector<std::string>& paths) {
  std::vector<DataSet> sets;
  for (const std::string& path : paths) {
    const auto syntax = data_syntax(path);
    if (!syntax) continue;
    const std::string name = set_of(path, *syntax);
    auto known = std::find_if(sets.begin(), sets.end(),
                              [&](const DataSet& set) { return set.path == name; });
    if (known == sets.end())
      known = sets.insert(sets.end(), {name, {}, *syntax, is_held_out(name)});
    known->files.push_back(path);
  }
  // What trains comes first, so that what is held out can be looked up in it.
  std::stable_partition(sets.begin(), sets.end(), [](const DataSet& set) { return !set.held_out; });
  return sets;
}

}  // namespace aplomb::preflight
