#include "scan/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "scan/element.h"
#include "scan/kernels.h"

namespace aplomb::scan {
namespace {

/// IEEE bits as an integer that grows with the value: neighbours differ by 1, both zeros are 0.
template <class Bits>
std::int64_t ordered(Bits bits) {
  constexpr Bits k_magnitude = std::numeric_limits<Bits>::max() / 2;
  const auto magnitude = static_cast<std::int64_t>(bits & k_magnitude);
  return (bits & ~k_magnitude) != 0 ? -magnitude : magnitude;
}

void add_finite(Difference& sums, double was, double is) {
  const double delta = std::fabs(is - was);
  sums.max_abs = std::max(sums.max_abs, delta);
  sums.sum_squares += delta * delta;
  sums.before_squares += was * was;
}

/// Floats whose bits are ordered as their values; `widen` gives the value of the bits.
template <class Bits, class Widen>
Difference compare_floats(const void* before, const void* after, std::uint64_t count, Widen widen) {
  Difference sums;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto x = scan::load<Bits>(before, i);
    const auto y = scan::load<Bits>(after, i);
    const std::int64_t apart = std::abs(ordered(y) - ordered(x));
    sums.changed += apart != 0 ? 1U : 0U;
    const double was = widen(x);
    const double is = widen(y);
    if (!std::isfinite(was) || !std::isfinite(is)) {
      ++sums.nonfinite;
      continue;
    }
    add_finite(sums, was, is);
    sums.max_ulps = std::max(sums.max_ulps, static_cast<std::uint64_t>(apart));
    sums.sum_ulps += static_cast<double>(apart);
  }
  return sums;
}

/// Everything else, through double.
Difference compare_any(TensorView before, TensorView after) {
  constexpr std::uint64_t k_part = 1024;
  Difference sums;
  std::array<double, k_part> was{};
  for (std::uint64_t from = 0; from < before.count; from += k_part) {
    const std::uint64_t to = std::min(from + k_part, before.count);
    scan::for_each_element(before, from, to,
                           [&](std::uint64_t i, double value) { was[i - from] = value; });
    scan::for_each_element(after, from, to, [&](std::uint64_t i, double is) {
      const double old = was[i - from];
      const bool both_nan = std::isnan(old) && std::isnan(is);
      sums.changed += old != is && !both_nan ? 1U : 0U;
      if (std::isfinite(old) && std::isfinite(is)) {
        add_finite(sums, old, is);
      } else {
        ++sums.nonfinite;
      }
    });
  }
  return sums;
}

}  // namespace

void Difference::add(const Difference& next) {
  changed += next.changed;
  nonfinite += next.nonfinite;
  max_abs = std::max(max_abs, next.max_abs);
  sum_squares += next.sum_squares;
  before_squares += next.before_squares;
  max_ulps = std::max(max_ulps, next.max_ulps);
  sum_ulps += next.sum_ulps;
}

Difference difference_reference(TensorView before, TensorView after) {
  switch (before.type) {
    case ScalarType::f32:
      return compare_floats<std::uint32_t>(
          before.data, after.data, before.count,
          [](std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); });
    case ScalarType::bf16:
      return compare_floats<std::uint16_t>(
          before.data, after.data, before.count, [](std::uint16_t bits) {
            return static_cast<double>(
                std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
          });
    case ScalarType::f16:
      return compare_floats<std::uint16_t>(
          before.data, after.data, before.count,
          [](std::uint16_t bits) { return numerics::decode(numerics::Format::fp16, bits); });
    default:
      return compare_any(before, after);
  }
}

Difference difference(TensorView before, TensorView after) {
  switch (before.type) {
    case ScalarType::f32:
    case ScalarType::bf16:
    case ScalarType::f16:
      return scan::difference_simd(before, after);
    default:
      return difference_reference(before, after);
  }
}

}  // namespace aplomb::scan
