#pragma once
/// Between the host's words and the device's: chunks of tensors, and their statistics.

#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "scan/cuda/gpu_layout.h"
#include "scan/scan.h"

namespace aplomb::scan::gpu {

inline std::optional<Kind> kind_of(ScalarType type) {
  switch (type) {
    case ScalarType::f32:
      return Kind::f32;
    case ScalarType::bf16:
      return Kind::bf16;
    case ScalarType::f16:
      return Kind::f16;
    default:
      return std::nullopt;
  }
}

struct ChunkTable {
  std::vector<Chunk> chunks;
  std::vector<std::uint32_t> first;  ///< of each tensor's chunks, and one more: their number
};

/// Nothing where a type is not read, an address is not aligned to its elements, or there are more
/// chunks than 32 bits count.
inline std::optional<ChunkTable> chunks_of(std::span<const TensorView> tensors) {
  ChunkTable table;
  for (const TensorView& tensor : tensors) {
    const auto kind = kind_of(tensor.type);
    const std::size_t width = size_of(tensor.type);
    // NOLINTNEXTLINE(performance-no-int-to-ptr, cppcoreguidelines-pro-type-reinterpret-cast)
    const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data) % width == 0;
    const std::uint64_t chunks = tensor.count / k_chunk + (tensor.count % k_chunk != 0 ? 1 : 0);
    if (!kind || !aligned || chunks > std::numeric_limits<std::uint32_t>::max() / 2 ||
        table.chunks.size() + chunks > std::numeric_limits<std::uint32_t>::max() / 2) {
      return std::nullopt;
    }
    table.first.push_back(static_cast<std::uint32_t>(table.chunks.size()));
    for (std::uint64_t from = 0; from < tensor.count; from += k_chunk) {
      const std::uint64_t left = tensor.count - from;
      table.chunks.push_back({static_cast<const char*>(tensor.data) + from * width,
                              static_cast<std::uint32_t>(left < k_chunk ? left : k_chunk), *kind});
    }
  }
  table.first.push_back(static_cast<std::uint32_t>(table.chunks.size()));
  return table;
}

inline TensorStats stats_of(const Stats& from, std::uint64_t count) {
  TensorStats to;
  to.count = count;
  to.nan = from.nan;
  to.inf = from.inf;
  to.zeros = from.zeros;
  to.first_nonfinite = from.first_nonfinite;
  to.sum = from.sum;
  to.sum_squares = from.sum_squares;
  to.max_abs = static_cast<double>(std::bit_cast<float>(from.max_bits));
  if (from.min_bits != 0) to.min_abs = static_cast<double>(std::bit_cast<float>(from.min_bits));
  for (unsigned bin = 0; bin < k_bins; ++bin) to.exponents[bin] = from.exponents[bin];
  return to;
}

}  // namespace aplomb::scan::gpu
