#pragma once
/// The directory of a zip archive as torch.save writes it: entries stored (not compressed), zip64
/// where it is large. Compressed entries (zip tools that packed a checkpoint again) can be inflated
/// with a bound.
///
/// Every size and offset is checked against the file; an entry whose claims do not fit is a Finding
/// and left out.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "tensors/finding.h"

namespace aplomb::pickle {

struct ZipEntry {
  std::string name;
  std::uint64_t header = 0;  ///< of its local header in the file
  std::uint64_t offset = 0;  ///< of its data in the file
  std::uint64_t packed = 0;  ///< bytes in the file
  std::uint64_t size = 0;    ///< bytes of content
  std::uint32_t crc = 0;
  bool stored = true;  ///< false: deflate
};

struct ZipDirectory {
  std::vector<ZipEntry> entries;  ///< in the order of the central directory
  std::vector<ZipEntry> unread;   ///< members that are encrypted, packed otherwise or damaged
  tensors::Findings findings;
};

bool looks_like_zip(std::span<const std::byte> bytes);

/// Errors: bad_format (no end record, a directory that lies beyond the file).
core::Result<ZipDirectory> read_zip_directory(std::span<const std::byte> bytes,
                                              const std::string& path);

/// Whether the CRC-32 that the directory states is that of `content`.
bool crc_fits(const ZipEntry& entry, std::span<const std::byte> content);

/// The content of a compressed entry. Errors: too_large beyond `limit`, bad_format.
core::Result<std::string> inflate_entry(std::span<const std::byte> bytes, const ZipEntry& entry,
                                        std::uint64_t limit);

}  // namespace aplomb::pickle
