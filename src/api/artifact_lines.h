#pragma once
/// Lines of the user's artifacts, read back as evidence by their byte.

#include <string>

#include "record/run.h"

namespace aplomb::api {

/// Reads as little as it can: one block around the byte of a plain file; of a compressed one its
/// first k_most_unpacked bytes, once. Never fails: what cannot be read back is empty. Not
/// thread-safe.
class ArtifactLines {
 public:
  static constexpr std::size_t k_before = 256;  ///< bytes read before the place
  static constexpr std::size_t k_after = 768;   ///< and after it
  static constexpr std::size_t k_most_unpacked = 16U << 20U;

  /// The line on which `origin` lies: at most k_before + k_after bytes around it. Empty for binary
  /// artifacts.
  std::string line_at(const record::Source& source, const record::Origin& origin);

 private:
  std::string window(const std::string& path, std::uint64_t begin, std::size_t size);
  std::string unpacked_path_;
  std::string unpacked_;
};

}  // namespace aplomb::api
