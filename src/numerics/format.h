#pragma once
/// Number formats of deep learning: what they can hold, how they round, and how far apart their
/// values lie.
///
///     round_to(Format::bf16, 1.0 - 1e-4) == 1.0  // an update of 1e-4 is lost on a weight of 1.0
///     spacing(Format::bf16, 1.0) == 0.0078125    // 2^-7; just below 1.0 it is half of that
///
/// Exact for every input: a double holds each value of every narrower format, and rounding works on
/// its bits. Sources: IEEE 754-2019 (fp16, fp32, fp64); bfloat16 as in Intel's and PyTorch's
/// definition (upper half of fp32); OCP OFP8 1.0 (fp8_e4m3 without infinities, one NaN pattern per
/// sign; fp8_e5m2 with IEEE specials); TF32 as in NVIDIA's Ampere whitepaper (fp32 range, 10
/// mantissa bits).

#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::numerics {

enum class Format : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2 };

struct FormatSpec {
  std::string_view name;  ///< `bf16`
  int bits = 0;           ///< as stored (tf32: 32)
  int exponent_bits = 0;
  int mantissa_bits = 0;  ///< stored ones, without the hidden bit
  int bias = 0;
  bool has_infinity = true;
  double max_finite = 0;       ///< fp16: 65504; fp8_e4m3: 448
  double smallest_normal = 0;  ///< fp16: 2^-14
  double smallest_subnormal = 0;
};

const FormatSpec& spec_of(Format format);
/// `bf16`, `bfloat16`, `torch.bfloat16`, `float16`, `half`, `fp8_e4m3fn`, `F16`, `BF16`, `F8_E4M3`
/// ... Nothing if unknown.
std::optional<Format> format_of(std::string_view name);

/// Nearest value of the format, ties to even. Beyond the largest finite value: infinity as IEEE
/// rounds it; fp8_e4m3 has none and gives NaN (OCP OFP8, non-saturating mode; the conversion of
/// PyTorch and ml_dtypes).
double round_to(Format format, double value);

/// Stochastic rounding: up with a probability equal to the share of the gap that `value` has
/// covered. `random` is uniform in [0, 1). Values that the format holds are returned as they are.
double round_stochastic(Format format, double value, double random);

/// Distance from |value| to the next larger magnitude of the format: the ULP of its binade. The
/// next smaller one is half as far away where |value| is a power of two. The subnormal spacing
/// below the smallest normal; NaN for NaN and Inf.
double spacing(Format format, double value);

/// Bits <-> value. Bits above the format's width are ignored; `encode` rounds as `round_to`.
double decode(Format format, std::uint64_t bits);
std::uint64_t encode(Format format, double value);

/// How many representable values lie between two bit patterns (0: the same value; +0 and -0 count
/// as the same). Nothing where one of them is NaN.
std::optional<std::uint64_t> ulps_between(Format format, std::uint64_t a, std::uint64_t b);

}  // namespace aplomb::numerics
