#include "train/text/byte_level.h"

#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

constexpr char32_t k_first_moved = 0x100;

bool prints(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Moved {
  std::array<unsigned char, 68> bytes{};
  Moved() {
    std::size_t count = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!prints(byte)) bytes[count++] = static_cast<unsigned char>(byte);
    }
  }
};
const Moved& moved() {
  static const Moved table;
  return table;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> table = [] {
    std::array<std::string, 256> made;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (prints(byte)) append_utf8(made[byte], byte);
    }
    for (std::size_t i = 0; i < moved().bytes.size(); ++i)
      append_utf8(made[moved().bytes[i]], k_first_moved + static_cast<char32_t>(i));
    return made;
  }();
  return table;
}

std::optional<unsigned char> byte_of(char32_t point) {
  if (point < k_first_moved) {
    if (!prints(point)) return std::nullopt;
    return static_cast<unsigned char>(point);
  }
  if (point - k_first_moved >= moved().bytes.size()) return std::nullopt;
  return moved().bytes[point - k_first_moved];
}

std::string to_byte_characters(std::string_view bytes) {
  const auto& table = byte_characters();
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += table[static_cast<unsigned char>(c)];
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<unsigned char> byte = byte_of(next_code_point(text, at));
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
  }
  return out;
}

}  // namespace aplomb::train::text
