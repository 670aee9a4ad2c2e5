#include "config_text/unpacked_names.h"

#include <algorithm>

#include "core/text.h"

namespace aplomb::config_text {
namespace {

constexpr std::size_t k_most_names = 16;

using core::is_digit;

bool is_name(std::string_view word) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
  };
  return !word.empty() && !is_digit(word.front()) && std::all_of(word.begin(), word.end(), is_part);
}

bool is_quoted(std::string_view word) {
  return word.size() >= 2 && (word.front() == '\'' || word.front() == '"') &&
         word.find(word.front(), 1) == word.size() - 1;
}

bool is_plain_value(std::string_view word) {
  return is_quoted(word) || word == "True" || word == "False" || word == "None" ||
         core::parse_number(word).has_value();
}

/// The pieces between commas, trimmed; empty where there are too many.
std::vector<std::string_view> pieces_of(std::string_view list) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    pieces.push_back(core::trim(list.substr(at, end - at)));
    if (pieces.size() > k_most_names) return {};
    at = end + 1;
  }
  return pieces;
}

}  // namespace

std::vector<ConfigEntry> unpacked_names(std::string_view line, std::uint64_t number,
                                        std::uint64_t offset) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.find(',') > equals) return {};
  if (line.substr(equals).starts_with("==")) return {};
  const std::size_t remark = line.find('#', equals);
  const std::string_view right =
      line.substr(equals + 1, remark == std::string_view::npos ? remark : remark - equals - 1);
  const std::vector<std::string_view> names = pieces_of(line.substr(0, equals));
  const std::vector<std::string_view> values = pieces_of(right);
  if (names.size() < 2 || names.size() != values.size()) return {};
  if (!std::all_of(names.begin(), names.end(), is_name)) return {};
  std::vector<ConfigEntry> entries;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_plain_value(values[i])) continue;  // computed: its neighbours still are what they are
    ConfigEntry entry;
    entry.path = names[i];
    entry.quoted = is_quoted(values[i]);
    entry.text = entry.quoted ? values[i].substr(1, values[i].size() - 2) : values[i];
    entry.line = number;
    entry.offset = offset + static_cast<std::uint64_t>(values[i].data() - line.data());
    entry.size = values[i].size();
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace aplomb::config_text
