#pragma once
/// Tensors of every kind in raw bytes, and two scans of one held against each other.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "scan/scan.h"

namespace aplomb::test {

/// Elements of any type in raw bytes, at any misalignment of whole elements.
struct Buffer {
  std::vector<unsigned char> bytes;
  scan::ScalarType type;
  scan::TensorView view(std::uint64_t skip = 0) const {
    return {bytes.data() + skip * size_of(type), bytes.size() / size_of(type) - skip, type};
  }
  void push(double value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + size_of(type));
    const auto format = format_of(type);
    if (format) {
      const std::uint64_t bits = numerics::encode(*format, value);
      std::memcpy(bytes.data() + at, &bits, size_of(type));
    } else {
      const auto whole = static_cast<std::int64_t>(value);
      std::memcpy(bytes.data() + at, &whole, size_of(type));
    }
  }
};

/// Counts must be equal to the bit; the float64 sums run in another order.
inline void expect_same(const scan::TensorStats& a, const scan::TensorStats& b,
                        const std::string& what) {
  EXPECT_EQ(a.count, b.count) << what;
  EXPECT_EQ(a.nan, b.nan) << what;
  EXPECT_EQ(a.inf, b.inf) << what;
  EXPECT_EQ(a.zeros, b.zeros) << what;
  EXPECT_EQ(a.first_nonfinite, b.first_nonfinite) << what;
  EXPECT_EQ(a.max_abs, b.max_abs) << what;
  EXPECT_EQ(a.min_abs, b.min_abs) << what;
  EXPECT_EQ(a.exponents, b.exponents) << what;
  EXPECT_NEAR(a.sum_squares, b.sum_squares, 1e-12 * b.sum_squares) << what;
  EXPECT_NEAR(a.sum, b.sum,
              1e-12 * std::sqrt(b.sum_squares * static_cast<double>(b.count)) + 1e-300)
      << what;
}

/// Tensors as they occur: gradients over many binades, with zeros, subnormals, outliers and
/// non-finite values.
inline Buffer make(scan::ScalarType type, std::size_t count, double spread, double odd_share,
                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Buffer buffer{{}, type};
  for (std::size_t i = 0; i < count; ++i) {
    double value = normal(random) * std::exp2(spread * normal(random));
    if (uniform(random) < odd_share) {
      constexpr double k_odd[] = {0.0,       -0.0, 1e-40, 1e-45, 6e-8, INFINITY,
                                  -INFINITY, NAN,  3e38,  65504, 1e-20};
      value = k_odd[random() % std::size(k_odd)];
    }
    buffer.push(value);
  }
  return buffer;
}

}  // namespace aplomb::test
