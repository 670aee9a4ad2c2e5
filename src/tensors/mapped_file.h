#pragma once
/// MappedFile: a file's bytes, mapped read-only. Pages come from the page cache and may be dropped
/// at any time, so the memory that a checkpoint of any size takes stays bounded by what its reader
/// keeps resident.
///
/// A file that is cut while it is read, or a disk that fails, makes the system send SIGBUS to
/// whoever touches the page. A program that hands the address to replace_lost_page() goes on: the
/// bytes that are gone read as zeros, and lost_files() says of which file and from where. Without
/// that handler the signal ends the program, as it does for every mapping.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  MappedFile(std::string path, const std::byte* data, std::size_t size);

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t guard_ = 0;  ///< its place in the table that the handler of SIGBUS looks at
};

/// A mapped file of which bytes could not be had any more.
struct LostFile {
  std::string path;
  std::uint64_t from = 0;   ///< the first byte that was missed
  std::uint64_t bytes = 0;  ///< of the file when it was mapped
};

/// For a handler of SIGBUS: puts zeros where the page at this address was, and remembers it. False
/// where no MappedFile lies there: the signal is somebody else's. Safe within a signal handler and
/// from several threads at once.
bool replace_lost_page(const void* address) noexcept;
/// What has been lost since the process began, in the order of the paths.
std::vector<LostFile> lost_files();

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
