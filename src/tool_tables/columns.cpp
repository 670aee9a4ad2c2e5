#include "tool_tables/columns.h"

#include <algorithm>
#include <string>

#include "core/text.h"

namespace aplomb::tool_tables::columns {
namespace {
constexpr std::size_t k_most = 64;  // wider than any table known
}

Cells by_gaps(std::string_view line) {
  Cells cells;
  line = core::trim(line);
  while (!line.empty() && cells.size() < k_most) {
    const std::size_t gap = line.find("  ");
    cells.push_back(line.substr(0, gap));
    if (gap == std::string_view::npos) break;
    line = core::trim(line.substr(gap));
  }
  return cells;
}

Cells by_blanks(std::string_view line) {
  Cells cells;
  for (std::size_t at = 0; at < line.size() && cells.size() < k_most;) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = line.find_first_of(" \t\r", begin);
    cells.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return cells;
}

Cells by_bars(std::string_view line) {
  Cells cells;
  line = core::trim(line);
  while (cells.size() < k_most) {
    const std::size_t bar = line.find('|');
    cells.push_back(core::trim(line.substr(0, bar)));
    if (bar == std::string_view::npos) break;
    line = line.substr(bar + 1);
  }
  if (!cells.empty() && cells.back().empty()) cells.pop_back();
  if (!cells.empty() && cells.front().empty()) cells.erase(cells.begin());
  return cells;
}

std::optional<std::size_t> find(const Cells& names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [name](std::string_view each) {
    return core::iequals(each, name);
  });
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<double> number(const Cells& cells, std::optional<std::size_t> column) {
  if (!column || *column >= cells.size()) return std::nullopt;
  std::string digits(core::trim(cells[*column]));
  std::erase(digits, ',');
  const core::NumberPrefix prefix = core::parse_number_prefix(digits);
  if (prefix.size == 0) return std::nullopt;
  return prefix.value;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

}  // namespace aplomb::tool_tables::columns
