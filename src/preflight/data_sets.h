#pragma once
/// Which files are one data set, and of what kind.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::preflight {

enum class DataSyntax : std::uint8_t {
  json_lines,
  json_array,
  csv,
  tsv,
  columns,  ///< Parquet or Arrow
  tokens,   ///< ids without names of columns
};

/// By the name's ending, without `.gz` and `.zst`; nothing for other names.
std::optional<DataSyntax> data_syntax(std::string_view path);

struct DataSet {
  std::string path;  ///< as people name it: a file, a folder, `data/train-*-of-00004.parquet`
  std::vector<std::string> files;
  DataSyntax syntax = DataSyntax::json_lines;
  bool held_out = false;  ///< by its name: eval, valid, test, dev

  std::uint64_t bytes() const;
};

/// Shards (`train-00000-of-00004.parquet`) and the files of a folder that save_to_disk() of
/// datasets has written are one set. Sets that train come first.
std::vector<DataSet> data_sets(const std::vector<std::string>& paths);

}  // namespace aplomb::preflight
