#include "train/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

utf8proc_category_t category(char32_t point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(point));
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & '\x80') != 0; });
}

bool between(utf8proc_category_t what, utf8proc_category_t first, utf8proc_category_t last) {
  return what >= first && what <= last;
}

utf8proc_option_t options_of(NormalForm form) {
  int options = UTF8PROC_STABLE;
  const bool composed = form == NormalForm::nfc || form == NormalForm::nfkc;
  options |= composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);  // NOLINT: the enumerators are flags
}

}  // namespace

bool is_space(char32_t point) {
  if (point < 0x80) return point == ' ' || (point >= 0x09 && point <= 0x0D);
  return point == 0x85 || point == 0xA0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

bool is_number(char32_t point) {
  if (point < 0x80) return point >= '0' && point <= '9';
  return between(category(point), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_punctuation(char32_t point) {
  if (point < 0x80)
    return (point >= 0x21 && point <= 0x2F) || (point >= 0x3A && point <= 0x40) ||
           (point >= 0x5B && point <= 0x60) || (point >= 0x7B && point <= 0x7E);
  return between(category(point), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_mark(char32_t point) {
  return point >= 0x300 && between(category(point), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_word(char32_t point) {
  if (point < 0x80)
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || point == '_' ||
           (point >= 'a' && point <= 'z');
  if (point == 0x200C || point == 0x200D) return true;
  const bool circled_letter =
      (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
      (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
  const utf8proc_category_t what = category(point);
  return circled_letter || between(what, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
         what == UTF8PROC_CATEGORY_PC;
}

void normalize(std::string& text, NormalForm form) {
  if (is_ascii(text)) return;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.c_str());  // NOLINT: bytes
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text.size()), &made, options_of(form));
  if (size >= 0)
    text.assign(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));  // NOLINT
  std::free(made);  // NOLINT: utf8proc allocates so
}

void to_lower(std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_valid(text, at);
    if (point < 0x80) {
      out += static_cast<char>(point >= 'A' && point <= 'Z' ? point + 32 : point);
    } else if (point == 0x130) {  // the one character whose lower case is two
      out += "i\xCC\x87";
    } else {
      append_utf8(out,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
    }
  }
  text = std::move(out);
}

}  // namespace aplomb::train::text
