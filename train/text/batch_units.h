#pragma once
/// Best-fit packing: samples -> rows of at most so many tokens.

#include <cstdint>
#include <span>
#include <vector>

namespace aplomb::train::text {

/// Packs items of `lengths` (each at most `room`) into bins of `room`: longest first, each into the
/// fullest bin that has room for it (best-fit decreasing: at most 11/9 of the least number of bins,
/// plus one; Johnson 1974). Gives the items of each bin. Items of equal length keep their order.
std::vector<std::vector<std::uint32_t>> pack_best_fit(std::span<const std::int64_t> lengths,
                                                      std::int64_t room);

}  // namespace aplomb::train::text
