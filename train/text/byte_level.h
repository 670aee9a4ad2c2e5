#pragma once
/// GPT-2's alphabet: each of the 256 bytes as one printable character. Bytes that print (! to ~,
/// U+00A1 to U+00AC, U+00AE to U+00FF) stand for themselves, the other 68 for U+0100 onwards.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace aplomb::train::text {

/// The characters, as UTF-8, by byte.
const std::array<std::string, 256>& byte_characters();
/// The byte that a character stands for; nothing for characters outside the alphabet.
std::optional<unsigned char> byte_of(char32_t point);

/// Bytes -> their characters.
std::string to_byte_characters(std::string_view bytes);
/// Characters (UTF-8) -> bytes; nothing where one of them stands for none.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace aplomb::train::text
