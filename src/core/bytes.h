#pragma once
/// Small pieces of text compared and loaded without a call.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace aplomb::core {

inline std::uint64_t load8(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline std::uint32_t load4(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// memcmp() == 0 for pieces of a few dozen bytes.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size < 8) {
    if (size >= 4) return load4(a) == load4(b) && load4(a + size - 4) == load4(b + size - 4);
    for (std::size_t i = 0; i < size; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (load8(a + at) != load8(b + at)) return false;
  }
  return load8(a + size - 8) == load8(b + size - 8);
}

}  // namespace aplomb::core
