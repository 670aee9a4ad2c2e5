#pragma once
/// DullLines: remembers the lines of a log in which nothing was found, by all of them but the
/// values of their digits. Half of a real log are messages that come again and again with another
/// time or worker; the next of a kind needs no second look for bars, tables and pairs.
///
///     if (dull.knows(line)) ...        // looked at before, nothing in it
///     dull.note(line);                 // nothing was in it
///
/// Fixed memory: of two shapes that share a slot the later one stays.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "log_text/digit_shape.h"

namespace aplomb::log_text {

class DullLines {
 public:
  static constexpr std::size_t k_longest = 1024;  ///< bytes of a line that is worth a memory

  bool knows(std::string_view line) const {
    if (line.size() > k_longest || seen_.empty()) return false;
    const std::uint64_t shape = digit_shape(line);
    return seen_[shape % k_slots] == shape;
  }
  void note(std::string_view line) {
    if (line.size() > k_longest) return;
    seen_.resize(k_slots, 0);
    const std::uint64_t shape = digit_shape(line);
    seen_[shape % k_slots] = shape;
  }

 private:
  static constexpr std::size_t k_slots = 4096;

  std::vector<std::uint64_t> seen_;
};

}  // namespace aplomb::log_text
