#include "scan/scan.h"

#include <gtest/gtest.h>
#define HWY_WANT_AVX3_DL  // as kernels.cpp: else its target is not among those that are tested
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "made_tensors.h"

namespace aplomb::scan {
namespace {

using test::Buffer;
using test::expect_same;
using test::make;

constexpr ScalarType k_floats[] = {ScalarType::f64,  ScalarType::f32,     ScalarType::f16,
                                   ScalarType::bf16, ScalarType::f8_e4m3, ScalarType::f8_e5m2};

class EveryTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(EveryTarget, EqualsTheReferenceOverLengthsMisalignmentsAndKindsOfData) {
  for (const ScalarType type : k_floats) {
    for (const std::size_t count :
         {0UL, 1UL, 63UL, 4095UL, 4096UL, 4097UL, 8192UL, 20000UL, 70001UL}) {
      for (const double spread : {0.0, 1.0, 6.0, 40.0}) {
        for (const double odd : {0.0, 1e-4, 0.3}) {
          const Buffer buffer =
              make(type, count, spread, odd, count * 31 + static_cast<std::uint64_t>(spread));
          for (const std::uint64_t skip : {0UL, 1UL, 3UL}) {
            if (skip > count) continue;
            expect_same(scan(buffer.view(skip)), scan_reference(buffer.view(skip)),
                        std::string(name(type)) + " count " + std::to_string(count) + " spread " +
                            std::to_string(spread) + " odd " + std::to_string(odd) + " skip " +
                            std::to_string(skip));
          }
        }
      }
    }
  }
}

TEST_P(EveryTarget, EveryCodeOfFp8IsReadAsItsValue) {
  for (const ScalarType type : {ScalarType::f8_e4m3, ScalarType::f8_e5m2}) {
    for (unsigned code = 0; code < 256; ++code) {
      Buffer buffer{std::vector<unsigned char>(600, static_cast<unsigned char>(code)), type};
      expect_same(scan(buffer.view()), scan_reference(buffer.view()),
                  std::string(name(type)) + " code " + std::to_string(code));
    }
  }
}

TEST_P(EveryTarget, Fp64BeyondWhatFp32HoldsIsCountedInTheOuterBins) {
  Buffer buffer{{}, ScalarType::f64};
  for (int i = 0; i < 2048; ++i) buffer.push(std::ldexp(1.0 + i / 4096.0, i % 512 - 256));
  for (int i = 0; i < 2048; ++i) buffer.push(std::ldexp(-1.0, i % 200 - 100));
  const double edges[] = {0x1p127, 0x1p128, -0x1p-126, 0x1p-127, 0x1p1023, 5e-324, -INFINITY, NAN};
  for (const double each : edges) buffer.push(each);
  // Squares that overflow are the caller's own: both give Inf.
  const TensorStats found = scan(buffer.view());
  const TensorStats want = scan_reference(buffer.view());
  EXPECT_EQ(found.exponents, want.exponents);
  EXPECT_EQ(found.max_abs, want.max_abs);
  EXPECT_EQ(found.min_abs, want.min_abs);
  EXPECT_EQ(found.first_nonfinite, want.first_nonfinite);
  EXPECT_EQ(found.nan + found.inf, 2U);
}

TEST_P(EveryTarget, AllZerosOneOutlierAndConstantsAreExact) {
  for (const ScalarType type : {ScalarType::f32, ScalarType::bf16, ScalarType::f16}) {
    for (const double value : {0.0, 1.0, -3e-5, 60000.0}) {
      Buffer buffer{{}, type};
      for (int i = 0; i < 12288; ++i) buffer.push(value);
      expect_same(scan(buffer.view()), scan_reference(buffer.view()),
                  "constant " + std::to_string(value));
      const double outlier = 1e-7;
      const std::uint64_t bits = numerics::encode(*format_of(type), outlier);
      std::memcpy(buffer.bytes.data() + 5000 * size_of(type), &bits, size_of(type));
      expect_same(scan(buffer.view()), scan_reference(buffer.view()),
                  "outlier in " + std::to_string(value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) {
                           return std::string(hwy::TargetName(target.param));
                         });

TEST(Scan, ThreadsAndTensorsDoNotChangeTheResult) {
  std::vector<Buffer> buffers;
  std::vector<TensorView> views;
  for (const std::size_t count : {10UL, 300000UL, 0UL, 1000000UL})
    buffers.push_back(make(ScalarType::f32, count, 3, 1e-5, count));
  for (const Buffer& buffer : buffers) views.push_back(buffer.view());
  std::vector<TensorStats> one(views.size());
  std::vector<TensorStats> four(views.size());
  scan_many(views, one, 1);
  scan_many(views, four, 4);
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(one[i].sum, four[i].sum);
    EXPECT_EQ(one[i].sum_squares, four[i].sum_squares);
    expect_same(four[i], scan_reference(views[i]), "tensor " + std::to_string(i));
  }
}

TEST(Scan, IntegersAndTruthsAreScannedToo) {
  for (const ScalarType type : {ScalarType::i64, ScalarType::i32, ScalarType::i16, ScalarType::i8,
                                ScalarType::u8, ScalarType::boolean}) {
    Buffer buffer{{}, type};
    for (const double value : {0.0, 1.0, 1.0, 0.0, 1.0}) buffer.push(value);
    const TensorStats stats = scan(buffer.view());
    EXPECT_EQ(stats.zeros, 2U) << name(type);
    EXPECT_EQ(stats.sum, 3.0);
    EXPECT_EQ(stats.exponents[127], 3U);
  }
}

TEST(Scan, FormatsAreJudgedFromTheHistogram) {
  Buffer buffer{{}, ScalarType::f32};
  for (const double value : {0.0, 1.0, 1e-5, 1e-7, 7e4, 3e38, 1e-39}) buffer.push(value);
  const TensorStats stats = scan(buffer.view());
  EXPECT_EQ(stats.below_normal(numerics::Format::fp16), 3U);  // 1e-5, 1e-7, 1e-39 lie below 2^-14
  EXPECT_EQ(stats.below_normal(numerics::Format::bf16), 1U);
  EXPECT_EQ(stats.beyond_range(numerics::Format::fp16), 2U);
  EXPECT_EQ(stats.beyond_range(numerics::Format::bf16), 0U);
  EXPECT_TRUE(std::isfinite(stats.norm()));
}

}  // namespace
}  // namespace aplomb::scan
