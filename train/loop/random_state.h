#pragma once
/// The states of torch's random generators, as bytes by device: what dropout after a resume needs.

#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"

namespace aplomb::train::loop {

void seed_all(std::uint64_t seed);
std::map<std::string, std::string> random_states();
core::Result<void> set_random_states(const std::map<std::string, std::string>& states);

}  // namespace aplomb::train::loop
