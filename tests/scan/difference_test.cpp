#include "scan/difference.h"

#include <gtest/gtest.h>
#define HWY_WANT_AVX3_DL  // as kernels.cpp: else its target is not among those that are tested
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace aplomb::scan {
namespace {

using Bytes = std::vector<unsigned char>;

std::uint64_t bits_at(const Bytes& bytes, ScalarType type, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size_of(type), size_of(type));
  return bits;
}
void set_bits(Bytes& bytes, ScalarType type, std::size_t index, std::uint64_t bits) {
  std::memcpy(bytes.data() + index * size_of(type), &bits, size_of(type));
}

struct Pair {
  Bytes before, after;
  ScalarType type;
  Difference by(Difference (*compare)(TensorView, TensorView), std::uint64_t skip) const {
    const std::uint64_t count = before.size() / size_of(type) - skip;
    return compare({before.data() + skip * size_of(type), count, type},
                   {after.data() + skip * size_of(type), count, type});
  }
};

/// Weights, of which `moved` go some ULPs and `odd` become anything: zeros of both signs,
/// subnormals, NaN, Inf, the other end of the range.
Pair make(ScalarType type, std::size_t count, double moved, double odd, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 0.02);
  std::uniform_real_distribution<double> uniform;
  Pair pair{Bytes(count * size_of(type)), Bytes(count * size_of(type)), type};
  constexpr double k_odd[] = {0.0, -0.0, 6e-8, -6e-8, NAN, INFINITY, -INFINITY, 65504, -65504};
  for (std::size_t i = 0; i < count; ++i) {
    const auto draw = [&] {
      return numerics::encode(*format_of(type), uniform(random) < odd
                                                    ? k_odd[random() % std::size(k_odd)]
                                                    : normal(random));
    };
    const std::uint64_t was = draw();
    std::uint64_t is = was;
    if (uniform(random) < moved) is = was ^ (random() & 7U);
    if (uniform(random) < odd) is = draw();
    set_bits(pair.before, type, i, was);
    set_bits(pair.after, type, i, is);
  }
  return pair;
}

void expect_same(const Difference& a, const Difference& b, const std::string& what) {
  EXPECT_EQ(a.changed, b.changed) << what;
  EXPECT_EQ(a.nonfinite, b.nonfinite) << what;
  EXPECT_EQ(a.max_abs, b.max_abs) << what;
  EXPECT_EQ(a.max_ulps, b.max_ulps) << what;
  EXPECT_NEAR(a.sum_ulps, b.sum_ulps, 1e-12 * b.sum_ulps) << what;
  EXPECT_NEAR(a.sum_squares, b.sum_squares, 1e-12 * b.sum_squares) << what;
  EXPECT_NEAR(a.before_squares, b.before_squares, 1e-12 * b.before_squares) << what;
}

class DifferenceOnEveryTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(DifferenceOnEveryTarget, EqualsTheReferenceOverLengthsMisalignmentsAndKindsOfChange) {
  for (const ScalarType type : {ScalarType::f32, ScalarType::bf16, ScalarType::f16}) {
    for (const std::size_t count : {0UL, 1UL, 511UL, 512UL, 513UL, 4096UL, 20001UL}) {
      for (const double moved : {0.0, 0.06, 1.0}) {
        for (const double odd : {0.0, 1e-3, 0.5}) {
          const Pair pair = make(type, count, moved, odd, count + 7);
          for (const std::uint64_t skip : {0UL, 1UL, 3UL}) {
            if (skip > count) continue;
            expect_same(pair.by(difference, skip), pair.by(difference_reference, skip),
                        std::string(name(type)) + " count " + std::to_string(count) + " moved " +
                            std::to_string(moved) + " odd " + std::to_string(odd));
          }
        }
      }
    }
  }
}

TEST_P(DifferenceOnEveryTarget, UlpsReachFromOneEndOfTheRangeToTheOther) {
  for (const ScalarType type : {ScalarType::f32, ScalarType::bf16, ScalarType::f16}) {
    Pair pair = make(type, 1024, 0, 0, 1);
    const std::uint64_t largest =
        numerics::encode(*format_of(type), spec_of(*format_of(type)).max_finite);
    const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(type) - 1);
    set_bits(pair.before, type, 700, largest | sign);
    set_bits(pair.after, type, 700, largest);
    const Difference found = pair.by(difference, 0);
    EXPECT_EQ(found.max_ulps, 2 * largest);
    EXPECT_EQ(found.changed, 1U);
    EXPECT_EQ(found.max_abs, 2 * spec_of(*format_of(type)).max_finite);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DifferenceOnEveryTarget,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) {
                           return std::string(hwy::TargetName(target.param));
                         });

TEST(Difference, EqualTensorsHaveNone) {
  Pair pair = make(ScalarType::bf16, 5000, 0, 0, 3);
  set_bits(pair.before, ScalarType::bf16, 8, 0x8000);
  set_bits(pair.after, ScalarType::bf16, 8, 0);
  const Difference found = pair.by(difference, 0);
  EXPECT_EQ(found.changed, 0U);
  EXPECT_EQ(found.sum_ulps, 0);
  EXPECT_GT(found.before_squares, 0);
  EXPECT_EQ(bits_at(pair.before, ScalarType::bf16, 8), 0x8000U);
}

TEST(Difference, IntegersAndDoublesGoThroughFloat64) {
  const double before[] = {1, 2, NAN, INFINITY};
  const double after[] = {1, 2.5, NAN, 3};
  const Difference found = difference({before, 4, ScalarType::f64}, {after, 4, ScalarType::f64});
  EXPECT_EQ(found.changed, 2U);
  EXPECT_EQ(found.nonfinite, 2U);
  EXPECT_EQ(found.max_abs, 0.5);
  EXPECT_EQ(found.before_squares, 5);
}

}  // namespace
}  // namespace aplomb::scan
