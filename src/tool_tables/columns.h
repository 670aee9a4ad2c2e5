#pragma once
/// Ways in which printed tables part their columns, and the numbers that stand in them.

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace aplomb::tool_tables::columns {

using Cells = std::vector<std::string_view>;

/// Parted by two blanks or more: names of columns may hold single blanks.
Cells by_gaps(std::string_view line);
/// Parted by any blanks or tabs.
Cells by_blanks(std::string_view line);
/// Parted by `|`, each trimmed; an empty first and last cell are left out.
Cells by_bars(std::string_view line);

/// Index of the column of this name, or nothing.
std::optional<std::size_t> find(const Cells& names, std::string_view name);

/// The number at the head of the cell (`47.79%`, `93.315ms`, `1,234`); nothing where there is none
/// or no such cell: a torn last row has fewer.
std::optional<double> number(const Cells& cells, std::optional<std::size_t> column);

/// Whether one of the parts stands in the text.
bool has_any(std::string_view text, std::initializer_list<std::string_view> parts);

}  // namespace aplomb::tool_tables::columns
