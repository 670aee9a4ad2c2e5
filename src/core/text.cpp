#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace aplomb::core {
namespace {

char fold(char c) { return (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

bool starts_with_folded(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (fold(text[i]) != word[i]) return false;
  }
  return true;
}

/// How many bytes the UTF-8 character at the head of `text` takes, 0 where it is not valid.
std::size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  std::size_t size = 0;
  std::uint32_t code = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
    code = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    code = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    code = lead & 0x07U;
  }
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte & 0x3FU);
  }
  const bool overlong =
      (size == 3 && code < 0x800) || (size == 4 && (code < 0x10000 || code > 0x10FFFF));
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate ? 0 : size;
}

NumberPrefix parse_special(std::string_view text, std::size_t sign_size, bool negative) {
  const std::string_view rest = text.substr(sign_size);
  constexpr double k_inf = std::numeric_limits<double>::infinity();
  if (starts_with_folded(rest, "nan"))
    return {std::numeric_limits<double>::quiet_NaN(), sign_size + 3};
  if (starts_with_folded(rest, "infinity")) return {negative ? -k_inf : k_inf, sign_size + 8};
  if (starts_with_folded(rest, "inf")) return {negative ? -k_inf : k_inf, sign_size + 3};
  return {};
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (fold(a[i]) != fold(b[i])) return false;
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = fold(c);
  return out;
}

bool icontains(std::string_view text, std::string_view part) {
  if (part.empty()) return true;
  if (text.size() < part.size()) return false;
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
    if (iequals(text.substr(at, part.size()), part)) return true;
  }
  return false;
}

NumberPrefix parse_number_prefix(std::string_view text) {
  if (text.empty()) return {};
  const bool negative = text[0] == '-';
  const std::size_t sign_size = (negative || text[0] == '+') ? 1 : 0;
  const std::string_view body = text.substr(sign_size);
  if (body.empty()) return {};
  const char head = fold(body[0]);
  if (head == 'n' || head == 'i') return parse_special(text, sign_size, negative);
  if (!((head >= '0' && head <= '9') || head == '.')) return {};
  double value = 0;
  const auto done = std::from_chars(body.data(), body.data() + body.size(), value);
  if (done.ec == std::errc::invalid_argument) return {};
  if (done.ec == std::errc::result_out_of_range) {
    // from_chars leaves the value alone: tell overflow from underflow by the exponent's sign.
    const std::string_view used = body.substr(0, static_cast<std::size_t>(done.ptr - body.data()));
    const bool plain = used.find_first_of("eE") == std::string_view::npos;
    const bool tiny = plain ? used.front() == '0' || used.front() == '.'
                            : used.find("e-") != std::string_view::npos ||
                                  used.find("E-") != std::string_view::npos;
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return {negative ? -value : value, sign_size + static_cast<std::size_t>(done.ptr - body.data())};
}

std::optional<double> parse_number(std::string_view text) {
  const NumberPrefix found = parse_number_prefix(text);
  if (found.size == 0) return std::nullopt;
  if (found.size == text.size()) return found.value;
  if (text[found.size] != '_' && text[found.size] != ',') return std::nullopt;
  // Python's and people's digit groups: 1_000, 1,234,567.
  std::string digits;
  digits.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool group = (text[i] == '_' || text[i] == ',') && i > 0 && i + 1 < text.size() &&
                       text[i - 1] >= '0' && text[i - 1] <= '9' && text[i + 1] >= '0' &&
                       text[i + 1] <= '9';
    if (!group) digits.push_back(text[i]);
  }
  const NumberPrefix whole = parse_number_prefix(digits);
  if (whole.size != digits.size()) return std::nullopt;
  return whole.value;
}

std::string show_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.{}g}", value, digits);
}

std::string show_bytes(double bytes) {
  static constexpr const char* k_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::fabs(bytes) >= 1024 && unit + 1 < std::size(k_units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{:.4g} {}", bytes, k_units[unit]);
}

std::string shorten(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  std::size_t keep = 0;  // bytes of the first width - 3 characters
  for (std::size_t at = 0; at < text.size();) {
    if (characters + 3 == width) keep = at;
    const std::size_t size = utf8_length(text.substr(at));
    at += size == 0 ? 1 : size;
    if (++characters > width) return std::string(text.substr(0, keep)) + "...";
  }
  return std::string(text);
}

std::string sanitize_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += sanitize(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

namespace {

/// The code point of a whole UTF-8 sequence.
std::uint32_t code_of(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  std::uint32_t code = lead & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1))
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

/// What no reader sees, or what makes them see another order than is there: C1 controls (a terminal
/// obeys them), soft hyphens, Hangul fillers, zero-width characters, marks and overrides of
/// direction (CVE-2021-42574), separators of lines and paragraphs, annotations, variation selectors
/// and tags. Those of Unicode's Default_Ignorable_Code_Point that have a use in names are in as
/// well: here a name is evidence.
bool is_unseen(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range k_ranges[] = {
      {0x80, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},    {0x61C, 0x61C},   {0x115F, 0x1160},
      {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},  {0x2028, 0x202E}, {0x2060, 0x206F},
      {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB},
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  return std::any_of(std::begin(k_ranges), std::end(k_ranges),
                     [code](const Range& each) { return code >= each.first && code <= each.last; });
}

/// Part of a picture: a selector of its form behind a symbol, a joiner between two of them.
bool draws(std::uint32_t before, std::uint32_t code) {
  constexpr std::uint32_t k_symbols = 0x203C;
  constexpr std::uint32_t k_pictures = 0x1F000;
  if (code == 0xFE0E || code == 0xFE0F)
    return before >= k_symbols && (before < 0x3400 || (before >= k_pictures && before < 0x20000));
  return code == 0x200D && ((before >= k_pictures && before < 0x20000) || before == 0xFE0F);
}

}  // namespace

std::string sanitize(std::string_view text) {
  std::string out;
  std::uint32_t before = 0;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_length(text.substr(at));
    if (size == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    const std::uint32_t code = code_of(text.substr(at, size));
    if ((code < 0x20 && code != '\t') || code == 0x7F) {
      out += ' ';
    } else if (code >= 0x80 && is_unseen(code) && !draws(before, code)) {
      out += fmt::format("<U+{:04X}>", code);
    } else {
      out += text.substr(at, size);
    }
    before = code;
    at += size;
  }
  return out;
}

}  // namespace aplomb::core
