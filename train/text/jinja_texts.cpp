#include "train/text/jinja_texts.h"

#include <algorithm>
#include <cctype>

#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace aplomb::train::text::jinja {

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  const auto goes = [&](char32_t point) {
    if (characters.empty()) return is_space(point) || (point >= 0x1C && point <= 0x1F);
    std::string one;
    append_utf8(one, point);
    return characters.find(one) != std::string_view::npos;
  };
  std::size_t end = text.size();
  while (right && end > 0) {
    std::size_t begin = end;
    if (!goes(previous_valid(text, begin))) break;
    end = begin;
  }
  std::size_t begin = 0;
  while (left && begin < end) {
    std::size_t after = begin;
    if (!goes(next_valid(text, after))) break;
    begin = after;
  }
  return std::string(text.substr(begin, end - begin));
}

std::string cased(std::string text, bool upper) {
  if (!upper) {
    to_lower(text);
    return text;
  }
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Words begin with a capital ("title"), or the text does ("capitalize").
std::string capitals(std::string_view text, bool every_word) {
  std::string out = cased(std::string(text), false);
  bool begins = true;
  for (char& c : out) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (letter && begins) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    begins = every_word && !letter;
  }
  return out;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  while (true) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

std::string joined(const List& list, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += separator;
    out += to_text(list[i]);
  }
  return out;
}

List items(const Mapping& map) {
  List made;
  for (const auto& [key, value] : map) made.emplace_back(List{Value(key), value});
  return made;
}

}  // namespace aplomb::train::text::jinja
