#include "report/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace aplomb::report {
namespace {

struct Character {
  std::size_t size = 1;  // bytes
  std::size_t width = 1;
};

using Range = std::pair<std::uint32_t, std::uint32_t>;

// Unicode 15, EastAsianWidth.txt: the W and F blocks that turn up in logs and paths.
constexpr std::array<Range, 10> k_wide = {{{0x1100, 0x115F},
                                           {0x2E80, 0x303E},
                                           {0x3041, 0xA4CF},
                                           {0xAC00, 0xD7A3},
                                           {0xF900, 0xFAFF},
                                           {0xFE30, 0xFE6F},
                                           {0xFF00, 0xFF60},
                                           {0xFFE0, 0xFFE6},
                                           {0x1F300, 0x1FAFF},
                                           {0x20000, 0x3FFFD}}};
// Combining marks, joiners and variation selectors.
constexpr std::array<Range, 5> k_none = {
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xE0100, 0xE01EF}}};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& r) { return code >= r.first && code <= r.second; });
}

/// The text has been through sanitize(): it is valid UTF-8 without control characters. Bytes that
/// are not valid after all count as one column each.
Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {};
  Character found;
  found.size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  found.size = std::min(found.size, text.size() - at);
  std::uint32_t code = lead & (0xFFU >> (found.size + 1));
  for (std::size_t i = 1; i < found.size; ++i) {
    code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  if (within(k_wide, code)) found.width = 2;
  if (within(k_none, code)) found.width = 0;
  return found;
}

/// Bytes of the head that takes at most `width` columns.
std::size_t head_size(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (used + next.width > width) break;
    used += next.width;
    at += next.size;
  }
  return at;
}

void wrap_line(std::string_view line, std::size_t width, std::vector<std::string>& out) {
  while (columns(line) > width) {
    std::size_t end = head_size(line, width);
    std::size_t blank = line.rfind(' ', end);
    // A number keeps its percent sign.
    if (blank != std::string_view::npos && blank > 0 && line.substr(blank).starts_with(" %")) {
      blank = line.rfind(' ', blank - 1);
    }
    // A break at a blank, unless that would leave most of the line empty.
    const bool at_blank = blank != std::string_view::npos && blank > end / 3;
    if (at_blank) end = blank;
    if (end == 0) end = character_at(line, 0).size;
    out.emplace_back(line.substr(0, end));
    line.remove_prefix(at_blank ? end + 1 : end);
  }
  out.emplace_back(line);
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    width += next.width;
    at += next.size;
  }
  return width;
}

std::string fit(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  return std::string(text.substr(0, head_size(text, width - 3))) + "...";
}

std::string fit_tail(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  std::size_t at = 0;
  while (at < text.size() && columns(text.substr(at)) + 3 > width) {
    at += character_at(text, at).size;
  }
  return "..." + std::string(text.substr(at));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), std::max<std::size_t>(width, 1), out);
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

std::string Paint::operator()(Style style, std::string_view text) const {
  static constexpr std::array<const char*, 7> k_codes = {"",     "1",    "2", "1;32",
                                                         "1;33", "1;31", "36"};
  const char* code = k_codes[static_cast<std::size_t>(style)];
  if (!on_ || *code == '\0' || text.empty()) return std::string(text);
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

void PaintedLine::add(Style style, std::string_view text) {
  if (style != style_) {
    done_ += paint_(style_, piece_);
    piece_.clear();
    style_ = style;
  }
  piece_ += text;
}

std::string PaintedLine::text() {
  if (style_ == Style::plain || style_ == Style::dim)
    piece_.erase(piece_.find_last_not_of(' ') + 1);
  done_ += paint_(style_, piece_);
  piece_.clear();
  return done_;
}

}  // namespace aplomb::report
