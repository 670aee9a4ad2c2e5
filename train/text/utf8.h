#pragma once
/// UTF-8, one code point at a time.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace aplomb::train::text {

constexpr char32_t k_replacement = 0xFFFD;

/// The code point at `at`, which moves past it. For a broken piece: U+FFFD, and past the longest
/// prefix that could have begun a character (Unicode's "maximal subpart"; as Python and Rust do).
char32_t next_code_point(std::string_view text, std::size_t& at);
/// The same for text that is known to be UTF-8, and not at its end.
inline char32_t next_valid(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const char32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  if (first < 0xE0) {
    at += 2;
    return ((first & 0x1FU) << 6U) | (byte(at - 1) & 0x3FU);
  }
  if (first < 0xF0) {
    at += 3;
    return ((first & 0x0FU) << 12U) | ((byte(at - 2) & 0x3FU) << 6U) | (byte(at - 1) & 0x3FU);
  }
  at += 4;
  return ((first & 0x07U) << 18U) | ((byte(at - 3) & 0x3FU) << 12U) |
         ((byte(at - 2) & 0x3FU) << 6U) | (byte(at - 1) & 0x3FU);
}

/// The code point that ends before `at` (> 0), which moves to its first byte. Valid UTF-8 only.
inline char32_t previous_valid(std::string_view text, std::size_t& at) {
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  std::size_t here = at;
  return next_valid(text, here);
}

using core::append_utf8;
bool is_utf8(std::string_view text);
/// Every broken piece replaced by U+FFFD.
std::string repaired_utf8(std::string_view text);

}  // namespace aplomb::train::text
