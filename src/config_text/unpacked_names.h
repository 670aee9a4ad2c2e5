#pragma once
/// Python's assignment of several names at once: `batch_size, lr, steps = 16, 2e-3, 300`. Only
/// where there are as many plain values (numbers, words in quotes, True, False, None) as names;
/// what is computed is passed over.

#include <cstdint>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

/// `line` without its end; `number` from 1, `offset` of its first byte in the artifact. Empty where
/// it is no such assignment.
std::vector<ConfigEntry> unpacked_names(std::string_view line, std::uint64_t number,
                                        std::uint64_t offset);

}  // namespace aplomb::config_text
