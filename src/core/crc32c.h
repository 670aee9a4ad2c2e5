#pragma once
/// CRC-32C (Castagnoli), the checksum of TFRecord frames and of the step record: by the CPU's
/// instruction where it has one, else by table.

#include <cstdint>
#include <string_view>

namespace aplomb::core {

std::uint32_t crc32c(std::string_view bytes);

/// As TFRecord stores it: rotated and offset, so that a checksum of checksums stays one.
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

/// The way without the instruction (for tests, and for CPUs that lack it).
std::uint32_t crc32c_by_table(std::string_view bytes);

}  // namespace aplomb::core
