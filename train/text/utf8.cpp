#include "train/text/utf8.h"

#include <simdjson.h>

namespace aplomb::train::text {

namespace {

/// How a character that begins with `lead` goes on: bytes after it, and the range of the first.
struct Continuation {
  int count = 0;  ///< 0: no lead byte
  unsigned least = 0x80;
  unsigned most = 0xBF;
};

Continuation continuation_of(unsigned lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {.count = 1};
  if (lead == 0xE0) return {.count = 2, .least = 0xA0};
  if (lead == 0xED) return {.count = 2, .most = 0x9F};  // no surrogates
  if (lead >= 0xE1 && lead <= 0xEF) return {.count = 2};
  if (lead == 0xF0) return {.count = 3, .least = 0x90};
  if (lead == 0xF4) return {.count = 3, .most = 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {.count = 3};
  return {};
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const unsigned lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  Continuation rest = continuation_of(lead);
  if (rest.count == 0) return k_replacement;
  char32_t point = lead & (0x3FU >> static_cast<unsigned>(rest.count));
  for (int i = 0; i < rest.count; ++i) {
    if (at == text.size()) return k_replacement;
    const unsigned byte = static_cast<unsigned char>(text[at]);
    if (byte < rest.least || byte > rest.most) return k_replacement;
    rest.least = 0x80;
    rest.most = 0xBF;
    point = (point << 6U) | (byte & 0x3FU);
    ++at;
  }
  return point;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) append_utf8(out, next_code_point(text, at));
  return out;
}

}  // namespace aplomb::train::text
