#pragma once
/// The manifest of a checkpoint: the SHA-256 of every file, in the lines of sha256sum, with names
/// relative to the checkpoint's folder:
///
///     9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  model.safetensors
///
/// `sha256sum -c FILE` in that folder checks the same. Names with a backslash or a line's end are
/// written as sha256sum writes them: a backslash before the line, `\\` and `\n` in the name. What a
/// manifest cannot say is who wrote it: keep it where whoever may change the checkpoint may not.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tensors/finding.h"

namespace aplomb::checkpoint {

struct FileHash {
  std::string name;    ///< relative to the folder, with `/`
  std::string sha256;  ///< 64 small hexadecimal digits; empty: it could not be read
  std::string why;     ///< it could not
};

/// Hashes a file, or every regular file below a folder, sorted by name; `except` (a manifest that
/// lies there) is left out. Links are followed inside the folder and not out of it. Files are read
/// in parts, by `threads` at once.
std::vector<FileHash> hash_files(const std::string& path, const std::string& except, int threads);

std::string manifest_text(const std::vector<FileHash>& files);

/// Errors: bad_format (a line that is none of sha256sum's), too_large.
core::Result<std::vector<FileHash>> read_manifest(std::string_view text, const std::string& path);

/// What differs, as `checkpoint.altered`: files with other bytes, missing ones, and ones that the
/// manifest does not name.
std::vector<tensors::Finding> compare_with_manifest(const std::string& path,
                                                    const std::vector<FileHash>& recorded,
                                                    const std::vector<FileHash>& present);

}  // namespace aplomb::checkpoint
