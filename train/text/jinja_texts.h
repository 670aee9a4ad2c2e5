#pragma once
/// What filters and methods of the Jinja interpreter do to texts and lists alike.

#include <string>
#include <string_view>

#include "train/text/jinja_value.h"

namespace aplomb::train::text::jinja {

/// Without the blanks (as Python's str.strip: Unicode's, and the separators U+001C to U+001F), or
/// the characters given, at its ends.
std::string stripped(std::string_view text, std::string_view characters, bool left, bool right);
/// Lower case by Unicode, upper case of ASCII letters only.
std::string cased(std::string text, bool upper);
/// Words begin with a capital ("title"), or the text does ("capitalize").
std::string capitals(std::string_view text, bool every_word);
std::string replaced(std::string_view text, std::string_view from, std::string_view to);
std::string joined(const List& list, std::string_view separator);
/// [[key, value], ...]
List items(const Mapping& map);

}  // namespace aplomb::train::text::jinja
