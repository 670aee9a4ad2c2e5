#pragma once
/// Checkpoints made in bytes by the tests themselves, for a folder of the test (core/folder.h).

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace aplomb::test {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string little(std::uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return out;
}

inline std::string safetensors(std::string_view header, std::string_view data) {
  return little(header.size(), 8) + std::string(header) + std::string(data);
}

template <class Number>
std::string raw(std::initializer_list<Number> numbers) {
  std::string out(numbers.size() * sizeof(Number), '\0');
  std::memcpy(out.data(), std::data(numbers), out.size());
  return out;
}

}  // namespace aplomb::test
