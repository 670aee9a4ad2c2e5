#include "numerics/format.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace aplomb::numerics {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_infinity = std::numeric_limits<double>::infinity();

constexpr double power_of_two(int exponent) {
  double value = 1;
  const double factor = exponent < 0 ? 0.5 : 2.0;
  for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) value *= factor;
  return value;
}

/// `top_code_finite`: the largest exponent code still holds numbers, all but its last mantissa
/// (fp8_e4m3).
constexpr FormatSpec make(std::string_view name, int bits, int exponent_bits, int mantissa_bits,
                          bool top_code_finite) {
  FormatSpec spec;
  spec.name = name;
  spec.bits = bits;
  spec.exponent_bits = exponent_bits;
  spec.mantissa_bits = mantissa_bits;
  spec.bias = (1 << (exponent_bits - 1)) - 1;
  spec.has_infinity = !top_code_finite;
  const int top = (1 << exponent_bits) - (top_code_finite ? 1 : 2) - spec.bias;
  const double last_gap = power_of_two(-mantissa_bits);
  spec.max_finite = power_of_two(top) * (2 - (top_code_finite ? 2 : 1) * last_gap);
  spec.smallest_normal = power_of_two(1 - spec.bias);
  spec.smallest_subnormal = power_of_two(1 - spec.bias - mantissa_bits);
  return spec;
}

constexpr std::array<FormatSpec, 7> k_specs = {
    make("fp64", 64, 11, 52, false), make("fp32", 32, 8, 23, false),
    make("tf32", 32, 8, 10, false),  make("fp16", 16, 5, 10, false),
    make("bf16", 16, 8, 7, false),   make("fp8_e4m3", 8, 4, 3, true),
    make("fp8_e5m2", 8, 5, 2, false)};

static_assert(k_specs[3].max_finite == 65504.0);
static_assert(k_specs[5].max_finite == 448.0);
static_assert(k_specs[6].max_finite == 57344.0);

struct Spelling {
  std::string_view name;
  Format format;
};
constexpr std::array k_spellings = {Spelling{"fp64", Format::fp64},
                                    Spelling{"float64", Format::fp64},
                                    Spelling{"double", Format::fp64},
                                    Spelling{"f64", Format::fp64},
                                    Spelling{"fp32", Format::fp32},
                                    Spelling{"float32", Format::fp32},
                                    Spelling{"float", Format::fp32},
                                    Spelling{"f32", Format::fp32},
                                    Spelling{"tf32", Format::tf32},
                                    Spelling{"fp16", Format::fp16},
                                    Spelling{"float16", Format::fp16},
                                    Spelling{"half", Format::fp16},
                                    Spelling{"f16", Format::fp16},
                                    Spelling{"bf16", Format::bf16},
                                    Spelling{"bfloat16", Format::bf16},
                                    Spelling{"fp8_e4m3", Format::fp8_e4m3},
                                    Spelling{"fp8_e4m3fn", Format::fp8_e4m3},
                                    Spelling{"float8_e4m3fn", Format::fp8_e4m3},
                                    Spelling{"f8_e4m3", Format::fp8_e4m3},
                                    Spelling{"fp8_e5m2", Format::fp8_e5m2},
                                    Spelling{"float8_e5m2", Format::fp8_e5m2},
                                    Spelling{"f8_e5m2", Format::fp8_e5m2}};

bool same_folded(std::string_view text, std::string_view lower_word) {
  if (text.size() != lower_word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c =
        text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower_word[i]) return false;
  }
  return true;
}

/// The gap of the format in the binade of a finite, non-zero magnitude.
double gap_at(const FormatSpec& spec, double magnitude) {
  if (magnitude < spec.smallest_normal) return spec.smallest_subnormal;
  return std::ldexp(1.0, std::ilogb(magnitude) - spec.mantissa_bits);
}

double overflow_of(const FormatSpec& spec, double value) {
  return spec.has_infinity ? std::copysign(k_infinity, value) : std::copysign(k_nan, value);
}

}  // namespace

const FormatSpec& spec_of(Format format) { return k_specs[static_cast<std::size_t>(format)]; }

std::optional<Format> format_of(std::string_view name) {
  constexpr std::string_view k_torch = "torch.";
  if (name.size() > k_torch.size() && name.substr(0, k_torch.size()) == k_torch)
    name.remove_prefix(k_torch.size());
  for (const Spelling& each : k_spellings) {
    if (same_folded(name, each.name)) return each.format;
  }
  return std::nullopt;
}

double round_to(Format format, double value) {
  const FormatSpec& spec = spec_of(format);
  if (format == Format::fp64 || value == 0 || std::isnan(value)) return value;
  if (std::isinf(value)) return overflow_of(spec, value);
  const double magnitude = std::fabs(value);
  const double gap = gap_at(spec, magnitude);
  // magnitude / gap is exact (gap is a power of two; fp32's smallest is far above the subnormals of
  // a double) and below 2^53: nearbyint in the default rounding mode takes ties to even.
  const double rounded = std::nearbyint(magnitude / gap) * gap;
  if (rounded > spec.max_finite) return overflow_of(spec, value);
  return std::copysign(rounded, value);
}

double round_stochastic(Format format, double value, double random) {
  const FormatSpec& spec = spec_of(format);
  if (format == Format::fp64 || value == 0 || !std::isfinite(value)) return round_to(format, value);
  const double magnitude = std::fabs(value);
  const double gap = gap_at(spec, magnitude);
  const double steps = magnitude / gap;
  const double below = std::floor(steps);
  const double rounded = (below + (random < steps - below ? 1.0 : 0.0)) * gap;
  if (rounded > spec.max_finite) return overflow_of(spec, value);
  return std::copysign(rounded, value);
}

double spacing(Format format, double value) {
  if (!std::isfinite(value)) return k_nan;
  const FormatSpec& spec = spec_of(format);
  const double magnitude = std::fabs(value);
  return magnitude < spec.smallest_normal ? spec.smallest_subnormal : gap_at(spec, magnitude);
}

double decode(Format format, std::uint64_t bits) {
  if (format == Format::fp64) return std::bit_cast<double>(bits);
  const FormatSpec& spec = spec_of(format);
  // tf32 is kept in fp32's layout: its lower 13 mantissa bits do not count.
  if (format == Format::tf32) return decode(Format::fp32, bits & 0xFFFFE000U);
  const std::uint64_t mantissa_mask = (1ULL << spec.mantissa_bits) - 1;
  const std::uint64_t exponent_mask = (1ULL << spec.exponent_bits) - 1;
  const std::uint64_t mantissa = bits & mantissa_mask;
  const std::uint64_t exponent = (bits >> spec.mantissa_bits) & exponent_mask;
  const bool negative = ((bits >> (spec.bits - 1)) & 1U) != 0;
  double magnitude = 0;
  if (exponent == exponent_mask && (spec.has_infinity || mantissa == mantissa_mask)) {
    magnitude = spec.has_infinity && mantissa == 0 ? k_infinity : k_nan;
  } else if (exponent == 0) {
    magnitude = static_cast<double>(mantissa) * spec.smallest_subnormal;
  } else {
    const double fraction = 1.0 + std::ldexp(static_cast<double>(mantissa), -spec.mantissa_bits);
    magnitude = std::ldexp(fraction, static_cast<int>(exponent) - spec.bias);
  }
  return negative ? -magnitude : magnitude;
}

std::uint64_t encode(Format format, double value) {
  if (format == Format::fp64) return std::bit_cast<std::uint64_t>(value);
  if (format == Format::tf32) return encode(Format::fp32, round_to(Format::tf32, value));
  const FormatSpec& spec = spec_of(format);
  const double rounded = round_to(format, value);
  const std::uint64_t sign = std::signbit(value) ? 1ULL << (spec.bits - 1) : 0;
  const std::uint64_t exponent_mask = (1ULL << spec.exponent_bits) - 1;
  const std::uint64_t mantissa_mask = (1ULL << spec.mantissa_bits) - 1;
  if (std::isnan(rounded)) {
    const std::uint64_t quiet =
        spec.has_infinity ? 1ULL << (spec.mantissa_bits - 1) : mantissa_mask;
    return sign | (exponent_mask << spec.mantissa_bits) | quiet;
  }
  if (std::isinf(rounded)) return sign | (exponent_mask << spec.mantissa_bits);
  const double magnitude = std::fabs(rounded);
  if (magnitude < spec.smallest_normal) {
    return sign | static_cast<std::uint64_t>(magnitude / spec.smallest_subnormal);
  }
  const int exponent = std::ilogb(magnitude);
  const double fraction = std::ldexp(magnitude, -exponent) - 1.0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, spec.mantissa_bits));
  return sign | (static_cast<std::uint64_t>(exponent + spec.bias) << spec.mantissa_bits) | mantissa;
}

std::optional<std::uint64_t> ulps_between(Format format, std::uint64_t a, std::uint64_t b) {
  if (std::isnan(decode(format, a)) || std::isnan(decode(format, b))) return std::nullopt;
  const int bits = spec_of(format).bits;
  const std::uint64_t all = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
  const std::uint64_t sign = 1ULL << (bits - 1);
  // Magnitudes count up from zero on both sides: as signed distances from zero they may be
  // subtracted.
  const auto from_zero = [&](std::uint64_t pattern) {
    pattern &= all;
    const auto magnitude = static_cast<std::int64_t>(pattern & ~sign);
    return (pattern & sign) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t left = from_zero(a);
  const std::int64_t right = from_zero(b);
  // Both lie within +-2^63: the unsigned difference of the larger and the smaller cannot wrap.
  return left > right ? static_cast<std::uint64_t>(left) - static_cast<std::uint64_t>(right)
                      : static_cast<std::uint64_t>(right) - static_cast<std::uint64_t>(left);
}

}  // namespace aplomb::numerics
