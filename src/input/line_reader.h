#pragma once
/// LineReader: the lines of a stream, one after the other, without copying those that lie in one
/// part.
///
///     LineReader lines(bytes);
///     for (LineReader::Line line; lines.next(line);) use(line.text, line.number, line.offset);
///
/// Ends of line: \n and \r\n; a UTF-8 byte-order mark at the very front is left out. Memory is
/// bounded: of a longer line only the first k_most_bytes are given, and `cut` says so.

#include <cstdint>
#include <string>
#include <string_view>

#include "input/byte_stream.h"

namespace aplomb::input {

class LineReader {
 public:
  static constexpr std::size_t k_most_bytes = 16U << 20U;

  struct Line {
    std::string_view text;     ///< valid until the next call
    std::uint64_t number = 0;  ///< from 1
    std::uint64_t offset = 0;  ///< of its first byte
    bool cut = false;          ///< longer than k_most_bytes
    bool ended = true;         ///< false: the stream ended before an end of line
  };

  explicit LineReader(ByteStream& bytes) : bytes_(bytes) {}
  bool next(Line& line);

 private:
  bool refill();
  void keep(std::string_view piece);

  ByteStream& bytes_;
  std::string_view part_;  ///< what is left of the current part
  std::string carried_;    ///< the beginning of a line whose end lies in a later part
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;  ///< of the next line
  bool cut_ = false;
  bool at_end_ = false;
};

}  // namespace aplomb::input
