#pragma once
/// What changed between two texts, line by line, as `diff -u` shows it.

#include <string>
#include <string_view>

namespace aplomb::fix {

/// Unified diff with `context` unchanged lines around each change; empty where the texts are equal.
/// Finds the shortest edit where the differing middle parts are small enough to compare
/// (k_most_cells); beyond that the middle is shown as taken out and put in as a whole.
std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name,
                         std::size_t context = 2);

inline constexpr std::size_t k_most_cells = 4'000'000;  ///< lines of one middle times the other's

}  // namespace aplomb::fix
