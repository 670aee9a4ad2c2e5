#pragma once
#include <cstddef>
#include <string_view>

namespace aplomb::core {

/// How many letters must be changed, added, taken away or swapped with their neighbour to turn one
/// word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace aplomb::core
