#pragma once
/// LineSplitter: the lines of a text artifact, whatever wrote it, in bounded memory.
///
///     LineSplitter lines(bytes);
///     for (Line line; lines.next(line);) ...
///
/// A line ends at `\n`, at `\r\n`, or at a lone `\r` (a progress bar that draws over itself; such
/// pieces share the number of the line that they stand in). UTF-16 of either byte order, with or
/// without a byte order mark, is read as UTF-8; terminal colours and cursor movements are taken
/// out; text that backspaces wiped out is dropped. Of a line longer than k_max_line_bytes the
/// first so many bytes are given, and the line is counted in `too_long()`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "input/byte_stream.h"

namespace aplomb::log_text {

struct Line {
  std::string_view text;     ///< valid until the next call
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t offset = 0;  ///< of its first byte (of UTF-16: of its first code unit)
  bool whole = true;         ///< false: the artifact ended before the line did
};

/// UTF-16 to UTF-8, in parts of any size.
class Utf16Decoder {
 public:
  explicit Utf16Decoder(bool big_endian) : big_endian_(big_endian) {}
  void decode(std::string_view part, std::string& out);

 private:
  void put(std::uint32_t unit, std::string& out);
  bool big_endian_;
  std::optional<unsigned char> odd_;  // a code unit cut in two by the end of a part
  std::uint32_t high_ = 0;            // a surrogate that waits for its other half
};

class LineSplitter {
 public:
  static constexpr std::size_t k_max_line_bytes = 1U << 20U;

  explicit LineSplitter(input::ByteStream& bytes) : bytes_(bytes) {}
  bool next(Line& line);

  std::uint64_t too_long() const { return too_long_; }
  std::uint64_t first_too_long_offset() const { return first_too_long_offset_; }
  /// Share of NUL and other control bytes among those of the first part: above a few percent the
  /// artifact is no text.
  double control_frac() const { return control_frac_; }
  std::uint64_t lines() const { return number_; }
  /// What the stream left out before the line given last, told once; `bytes` 0: nothing.
  input::Gap take_gap() { return std::exchange(gap_, {}); }

 private:
  bool load();
  void leap(const input::Gap& gap);
  bool rest(Line& line, bool has_escape);
  void look_at_head();
  std::size_t find_end(std::size_t from);
  std::string_view clean(std::string_view text);
  void carry(std::string_view piece);

  input::ByteStream& bytes_;
  std::string_view part_;
  std::size_t at_ = 0;
  std::uint64_t part_offset_ = 0;  // in the artifact
  std::uint64_t part_bytes_ = 0;   // of the artifact that the part stands for
  bool started_ = false;
  bool has_cr_ = false;
  bool has_escape_ = false;
  std::size_t next_newline_ = 0;  // cached find results, npos where none
  std::size_t next_cr_ = 0;
  std::optional<Utf16Decoder> utf16_;
  std::string decoded_;
  std::string carry_;
  std::uint64_t carry_offset_ = 0;
  bool carrying_ = false;
  bool carry_overflow_ = false;
  std::string cleaned_;
  std::uint64_t number_ = 0;
  bool line_open_ = false;  // the current number has been given to a piece already
  std::uint64_t too_long_ = 0;
  std::uint64_t first_too_long_offset_ = 0;
  double control_frac_ = 0;
  input::Gap gap_;
};

/// Takes terminal colours, cursor movements and wiped-out text from `text` into `out`.
void strip_terminal_codes(std::string_view text, std::string& out);

}  // namespace aplomb::log_text
