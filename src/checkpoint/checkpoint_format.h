#pragma once
/// CheckpointFormat: one way in which checkpoints are stored. One format a file;
/// src/checkpoint/roster.def lists them in the order in which they are asked.
///
/// A format of single files says of a file whether it is its own, and reads it. A format of many
/// files (each rank's, a part of every tensor) says which names are its own, and reads all of a
/// folder at once. What it finds goes into the Opening; what cannot be read becomes a Finding, and
/// nothing in the bytes is executed.
///
/// A new format: src/checkpoint/<slug>.cpp with `std::unique_ptr<CheckpointFormat>
/// make_<slug>_format()`, tests/checkpoint/<slug>_test.cpp, one line in roster.def.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/file_role.h"
#include "checkpoint/opening.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {

/// A file as the formats see it.
struct StoredFile {
  std::string path;
  FileRole role = FileRole::other;
  std::size_t index = 0;  ///< in Checkpoint::files
  std::shared_ptr<const tensors::MappedFile> mapped;

  std::span<const std::byte> bytes() const { return mapped->bytes(); }
  std::string_view text() const { return mapped->text(); }
  /// Without its folders.
  std::string_view name() const {
    return std::string_view(path).substr(path.find_last_of('/') + 1);
  }
};

class CheckpointFormat {
 public:
  virtual ~CheckpointFormat() = default;

  /// Whether the file is of this format, by its bytes, its name or its role.
  virtual bool takes(const StoredFile& file) const;
  /// Reads it: what the format calls itself (CheckpointFile::format); empty where it could not be
  /// read, and a Finding says why.
  virtual std::string read(const StoredFile& file, Opening& opening) const;

  /// Whether a file of this name is one of many that this format reads together.
  virtual bool is_shard(std::string_view name) const;
  /// Reads those of a folder. `names`: all that stand there, sorted.
  virtual void read_shards(Opening& opening, const std::string& folder,
                           const std::vector<std::string>& names) const;
};

/// The formats of the roster, in its order.
const std::vector<std::unique_ptr<CheckpointFormat>>& checkpoint_formats();

/// Reads one file by the first format that takes it.
void open_file(Opening& opening, const std::string& path, FileRole role);

}  // namespace aplomb::checkpoint
