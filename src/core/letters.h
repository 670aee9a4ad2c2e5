#pragma once
/// Letters of ASCII, whatever the locale. Digits and everything about whole texts: core/text.h.

namespace aplomb::core {

constexpr bool is_letter(char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
constexpr bool is_lower(char c) { return static_cast<unsigned char>(c - 'a') < 26; }
constexpr bool is_upper(char c) { return static_cast<unsigned char>(c - 'A') < 26; }
/// Within a line.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
/// What the name of a variable may begin with.
constexpr bool is_name_start(char c) { return is_letter(c) || c == '_'; }

}  // namespace aplomb::core
