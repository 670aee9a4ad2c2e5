#pragma once
/// Several targets are one program under several names (hard links of the build): what it fuzzes is
/// the name by which it was started.
///
///     build/fuzz/fuzz/fuzz_wandb  ->  target_name() == "wandb"

#include <string_view>

namespace aplomb::fuzz {

/// The name without its folders and without "fuzz_"; set before the first input.
std::string_view target_name();

}  // namespace aplomb::fuzz
