#pragma once
/// Sizes as people write them on a command line.

#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::cli {

/// `0`, `4096`, `16M`, `1.5G` (powers of 1024; `MB` and `MiB` likewise); nothing where it is none.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace aplomb::cli
