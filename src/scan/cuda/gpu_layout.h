#pragma once
/// What the host and the kernels of the scan hand each other. Plain data, the same on both sides.

#include <cstdint>

namespace aplomb::scan::gpu {

constexpr unsigned k_bins = 256;
constexpr unsigned k_threads = 256;      ///< of a block
constexpr unsigned k_chunk = 1U << 16U;  ///< elements: 128 or 256 KiB, some dozen rounds of a block

enum class Kind : std::uint32_t { f32, bf16, f16 };
template <Kind kind>
constexpr unsigned k_width = kind == Kind::f32 ? 4 : 2;  ///< bytes of an element

struct Chunk {
  const void* data;  ///< on the device, aligned to its elements
  std::uint32_t count;
  Kind kind;
};

struct alignas(16) Load {
  std::uint32_t word[4];
};

struct Partial {
  double sum;
  double sum_squares;
  std::uint32_t most;   ///< largest finite magnitude as fp32 bits
  std::uint32_t least;  ///< smallest but zero, less one
  std::uint32_t nan, inf, zeros;
  std::uint32_t first;  ///< index of the first NaN or Inf in the chunk; ~0 where there is none
  std::uint32_t exponents[k_bins];
};

struct Stats {
  double sum;
  double sum_squares;
  std::uint64_t nan, inf, zeros;
  std::int64_t first_nonfinite;
  std::uint32_t max_bits;  ///< fp32
  std::uint32_t min_bits;  ///< fp32; 0 where no element is both finite and not zero
  std::uint64_t exponents[k_bins];
};

}  // namespace aplomb::scan::gpu
