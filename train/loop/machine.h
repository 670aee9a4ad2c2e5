#pragma once
/// What the process sees of its machine.

#include <cstdint>

namespace aplomb::train::loop {

/// Resident memory of this process; 0 where the system does not say.
std::uint64_t resident_bytes();
/// Memory that could be had without swapping; 0 where the system does not say.
std::uint64_t available_bytes();

}  // namespace aplomb::train::loop
