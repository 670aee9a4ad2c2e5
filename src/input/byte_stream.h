#pragma once
/// ByteStream: the bytes of an artifact in order, decompressed on the way (.gz, .zst), in bounded
/// memory.
///
///     Result<std::unique_ptr<ByteStream>> bytes = open_bytes(path);
///     for (std::string_view part; !(part = (*bytes)->next()).empty();) ...
///
/// Not thread-safe. A stream that breaks in the middle (torn gzip, I/O error) ends early and says
/// so in `broken()`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace aplomb::input {

/// Where a part stands whose stream left something out before it (log_survey/sampled_log.h).
struct Gap {
  std::uint64_t bytes = 0;    ///< that were left out; 0: nothing was
  std::uint64_t lines = 0;    ///< line feeds before the part, from the front of the artifact
  bool inside = false;        ///< the part goes on in a line that a carriage return began anew
  std::uint64_t records = 0;  ///< of the log's commonest kind, among what was left out
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// The next part, valid until the next call; empty at the end. Parts are 64 KiB to 4 MiB.
  virtual std::string_view next() = 0;
  /// Why the stream ended before its end; empty where it did not.
  virtual const std::string& broken() const = 0;
  /// Bytes of the file consumed so far (compressed, where it is), for progress.
  virtual std::uint64_t consumed() const = 0;
  /// What was left out before the part given last. Only those who ask for such a stream get one.
  virtual Gap gap() const { return {}; }
};

/// Opens a file. Bytes that say that they are gzip or zstd are decompressed, whatever the name;
/// UTF-16 with a byte-order mark comes out as UTF-8. Offsets that readers note count the bytes that
/// come out here. Errors: not_found, not_readable (a directory, a device, no permission).
core::Result<std::unique_ptr<ByteStream>> open_bytes(const std::string& path);

/// The same for bytes that come from elsewhere.
std::unique_ptr<ByteStream> unpacked(std::unique_ptr<ByteStream> bytes);

/// A stream over bytes in memory (tests, fuzzing), handed out in parts of `part` bytes. The bytes
/// must outlive it.
std::unique_ptr<ByteStream> bytes_of(std::string_view bytes, std::size_t part = 1U << 20U);

/// The whole rest of the stream; `too_large` beyond `limit` bytes.
core::Result<std::string> read_all(ByteStream& bytes, std::uint64_t limit);

/// The rest of the stream up to `limit` bytes; `cut` tells whether more was there. For documents
/// whose beginning is of use without their end.
std::string read_at_most(ByteStream& bytes, std::uint64_t limit, bool& cut);

}  // namespace aplomb::input
