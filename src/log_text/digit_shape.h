#pragma once
/// digit_shape(): a hash of a line by all of it but the values of its digits. Lines of one shape have
/// the same length, and every number at the same place.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/bytes.h"

namespace aplomb::log_text {

/// Eight bytes with every digit as `0`.
inline std::uint64_t without_digits(std::uint64_t word) {
  constexpr std::uint64_t k_highs = 0x8080808080808080U;
  constexpr std::uint64_t k_zeros = 0x3030303030303030U;
  const std::uint64_t offset = word ^ k_zeros;  // a digit: 0 to 9
  const std::uint64_t others = ((offset & ~k_highs) + 0x7676767676767676U) | offset;
  const std::uint64_t digits = ((~others & k_highs) >> 7U) * 0xFFU;
  return (word & ~digits) | (k_zeros & digits);
}

/// Never 0. 64 bits: two shapes of one log that share it are not to be expected.
inline std::uint64_t digit_shape(std::string_view line) {
  constexpr std::uint64_t k_factor = 0x9FB21C651E98DF25U;
  std::uint64_t hash = (line.size() + 1) * k_factor;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ without_digits(word)) * k_factor;
    hash ^= hash >> 32U;
  };
  std::size_t at = 0;
  for (; at + 8 <= line.size(); at += 8) mix(core::load8(line.data() + at));
  std::uint64_t tail = 0;
  std::memcpy(&tail, line.data() + at, line.size() - at);
  mix(tail);
  return hash == 0 ? 1 : hash;
}

}  // namespace aplomb::log_text
