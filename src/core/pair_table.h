#pragma once
/// Small tables of pairs, searched row by row: the names of an enumeration's values, kinds by their
/// words.
///
///     constexpr std::pair<Reach, std::string_view> k_names[] = {{Reach::seed, "seed"}, ...};
///     core::second_of(k_names, reach).value_or("training");
///     core::first_of(k_names, "seed");  // std::optional<Reach>
///
/// The first row that matches answers; none where none does.

#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace aplomb::core {

template <class Table, class First>
constexpr auto second_of(const Table& table, const First& first)
    -> std::optional<std::remove_cvref_t<decltype(std::begin(table)->second)>> {
  for (const auto& row : table) {
    if (row.first == first) return row.second;
  }
  return std::nullopt;
}

template <class Table, class Second>
constexpr auto first_of(const Table& table, const Second& second)
    -> std::optional<std::remove_cvref_t<decltype(std::begin(table)->first)>> {
  for (const auto& row : table) {
    if (row.second == second) return row.first;
  }
  return std::nullopt;
}

}  // namespace aplomb::core
