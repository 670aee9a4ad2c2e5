#pragma once
/// UTF-8, one code point at a time.

#include <cstdint>
#include <string>

namespace aplomb::core {

/// Appends the code point in its one to four bytes.
void append_utf8(std::string& out, std::uint32_t code);

}  // namespace aplomb::core
