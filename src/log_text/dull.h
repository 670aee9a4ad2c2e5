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
#include <cstring>
#include <string_view>
#include <vector>

#include "core/bytes.h"

namespace aplomb::log_text {

class DullLines {
 public:
  static constexpr std::size_t k_longest = 1024;  ///< bytes of a line that is worth a memory

  bool knows(std::string_view line) const {
    if (line.size() > k_longest || seen_.empty()) return false;
    const std::uint64_t shape = shape_of(line);
    return seen_[shape % k_slots] == shape;
  }
  void note(std::string_view line) {
    if (line.size() > k_longest) return;
    seen_.resize(k_slots, 0);
    const std::uint64_t shape = shape_of(line);
    seen_[shape % k_slots] = shape;
  }

 private:
  static constexpr std::size_t k_slots = 4096;

  /// The eight bytes with every digit as `0`.
  static std::uint64_t without_digits(std::uint64_t word) {
    constexpr std::uint64_t k_highs = 0x8080808080808080U;
    constexpr std::uint64_t k_zeros = 0x3030303030303030U;
    const std::uint64_t offset = word ^ k_zeros;  // a digit: 0 to 9
    const std::uint64_t others = ((offset & ~k_highs) + 0x7676767676767676U) | offset;
    const std::uint64_t digits = ((~others & k_highs) >> 7U) * 0xFFU;
    return (word & ~digits) | (k_zeros & digits);
  }

  /// A hash of 64 bits: two shapes of one log that share it are not to be expected.
  static std::uint64_t shape_of(std::string_view line) {
    constexpr std::uint64_t k_factor = 0x9FB21C651E98DF25U;
    std::uint64_t hash = (line.size() + 1) * k_factor;  // never 0, which is a free slot
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ without_digits(word)) * k_factor;
      hash ^= hash >> 32U;
    };
    std::size_t at = 0;
    for (; at + 8 <= line.size(); at += 8) mix(core::load8(line.data() + at));
    std::uint64_t tail = 0;
    std::memcpy(&tail, line.data() + at, line.size() - at);
    mix(tail);
    return hash;
  }

  std::vector<std::uint64_t> seen_;
};

}  // namespace aplomb::log_text
