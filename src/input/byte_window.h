#pragma once
/// ByteWindow: a stream as a run of records of known sizes. Bytes of one part are not copied.
///
///     ByteWindow window(bytes);
///     std::string_view head = window.look(12);  // shorter only at the end of the stream
///     window.drop(head.size());
///
/// The caller bounds what it looks at: look(n) may hold n bytes in memory, skip(n) holds none.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "input/byte_stream.h"

namespace aplomb::input {

class ByteWindow {
 public:
  explicit ByteWindow(ByteStream& bytes) : bytes_(bytes) {}

  /// The next `count` bytes without moving past them; fewer where the stream ends. Valid until the
  /// next call.
  std::string_view look(std::size_t count) {
    if (part_.size() >= count && held_.empty()) return part_.substr(0, count);
    return look_across(count);
  }
  /// Moves past `count` bytes that look() has given.
  void drop(std::size_t count) {
    offset_ += count;
    const std::size_t of_held = std::min(count, held_.size() - used_);
    used_ += of_held;
    part_.remove_prefix(std::min(count - of_held, part_.size()));
    if (used_ == held_.size()) {
      held_.clear();
      used_ = 0;
    }
  }
  /// Moves past `count` bytes; gives how many there were.
  std::uint64_t skip(std::uint64_t count);
  std::uint64_t offset() const { return offset_; }

 private:
  std::string_view look_across(std::size_t count);

  ByteStream& bytes_;
  std::string_view part_;
  std::string held_;  ///< bytes from before part_, not yet dropped from used_ on
  std::size_t used_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace aplomb::input
