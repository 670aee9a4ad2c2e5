#pragma once
/// MappedFile: a file's bytes, mapped read-only. Pages come from the page cache and may be dropped
/// at any time, so the memory that a checkpoint of any size takes stays bounded by what its reader
/// keeps resident.
///
/// Not for files that shrink while they are read (the system then ends the program, as it does for
/// every mapping): checkpoints are written under a temporary name or once.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace aplomb::tensors {

class MappedFile {
 public:
  /// Errors: not_found, not_readable (a folder, a device, a pipe, no permission). An empty file is
  /// an empty span.
  static core::Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), size_};  // NOLINT: bytes as characters
  }
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

 private:
  MappedFile(std::string path, const std::byte* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Tells the system that these bytes of a mapping will not be read again soon: whole pages inside
/// them leave the resident set. Harmless for memory that is no file mapping only where it is never
/// read again, so callers pass spans of MappedFile alone.
void drop_pages(std::span<const std::byte> bytes);
/// Writes to the pages of these bytes become possible, and stay in this process: the file keeps
/// what it has. False where the system refuses.
bool make_private_copies_on_write(std::span<const std::byte> bytes);
/// Asks the system to read these bytes ahead.
void will_read(std::span<const std::byte> bytes);
/// Reads these bytes of a mapping into memory, and waits until they are there.
void bring_in(std::span<const std::byte> bytes);

}  // namespace aplomb::tensors
