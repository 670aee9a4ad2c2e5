#include "numerics/format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace aplomb::numerics {
namespace {

constexpr Format k_small[] = {Format::fp8_e4m3, Format::fp8_e5m2, Format::fp16, Format::bf16};

/// Every pattern of an 8- or 16-bit format, NaN apart, in order of value.
template <class Visit>
void for_each_pattern(Format format, Visit visit) {
  const std::uint64_t count = 1ULL << spec_of(format).bits;
  for (std::uint64_t bits = 0; bits < count; ++bits) visit(bits);
}

TEST(Format, EveryPatternOfTheSmallFormatsSurvivesDecodeAndEncode) {
  for (const Format format : k_small) {
    for_each_pattern(format, [&](std::uint64_t bits) {
      const double value = decode(format, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(format, encode(format, value))));
      } else {
        ASSERT_EQ(encode(format, value), bits) << spec_of(format).name << " " << bits;
        ASSERT_EQ(round_to(format, value), value);
      }
    });
  }
}

TEST(Format, Bfloat16IsTheUpperHalfOfFp32ForEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float wide = std::bit_cast<float>(bits << 16U);
    const double value = decode(Format::bf16, bits);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(value, static_cast<double>(wide));
    }
  }
}

TEST(Format, Fp16EqualsTheCompilersOwnHalfForEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    _Float16 half{};
    std::memcpy(&half, &narrow, sizeof half);
    const double value = decode(Format::fp16, bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half)));
    } else {
      ASSERT_EQ(value, static_cast<double>(static_cast<float>(half)));
    }
  }
}

TEST(Format, MidpointsBetweenNeighboursGoToTheEvenOneAndTheirSidesToTheNearest) {
  for (const Format format : k_small) {
    const FormatSpec& spec = spec_of(format);
    const std::uint64_t last = encode(format, spec.max_finite);
    for (std::uint64_t bits = 0; bits < last; ++bits) {
      const double low = decode(format, bits);
      const double high = decode(format, bits + 1);
      const double middle = low + (high - low) / 2;
      const double even = (bits & 1U) == 0 ? low : high;
      ASSERT_EQ(round_to(format, middle), even) << spec.name << " " << bits;
      ASSERT_EQ(round_to(format, std::nextafter(middle, low)), low);
      ASSERT_EQ(round_to(format, std::nextafter(middle, high)), high);
      ASSERT_EQ(round_to(format, -middle), -even);
      ASSERT_EQ(spacing(format, low), high - low);
    }
  }
}

TEST(Format, Fp32RoundsAsTheProcessorDoes) {
  std::uint64_t state = 42;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Exponents around those of fp32, subnormals and overflow included.
    const double value = std::ldexp(1.0 + static_cast<double>(state >> 12U) * 0x1p-52,
                                    static_cast<int>((state >> 3U) % 300) - 160);
    ASSERT_EQ(round_to(Format::fp32, value), static_cast<double>(static_cast<float>(value)))
        << value;
  }
}

TEST(Format, OverflowFollowsEachFormatsOwnRule) {
  EXPECT_EQ(round_to(Format::fp16, 65519.99), 65504.0);
  EXPECT_TRUE(std::isinf(round_to(Format::fp16, 65520.0)));
  EXPECT_TRUE(std::isinf(round_to(Format::fp8_e5m2, 1e9)));
  EXPECT_EQ(round_to(Format::fp8_e4m3, 460.0), 448.0);
  EXPECT_EQ(round_to(Format::fp8_e4m3, 464.0),
            448.0);  // a tie: the even neighbour is 448, beyond lies no number
  EXPECT_TRUE(std::isnan(round_to(Format::fp8_e4m3, 470.0)));
  EXPECT_TRUE(std::isnan(round_to(Format::fp8_e4m3, std::numeric_limits<double>::infinity())));
}

TEST(Format, StochasticRoundingMovesWithTheShareOfTheGap) {
  const double value = 1.0 + 0.25 * spacing(Format::bf16, 1.0);
  EXPECT_EQ(round_stochastic(Format::bf16, value, 0.24), 1.0 + 0x1p-7);
  EXPECT_EQ(round_stochastic(Format::bf16, value, 0.25), 1.0);
  EXPECT_EQ(round_stochastic(Format::bf16, 1.0, 0.0), 1.0);
}

TEST(Format, UlpsCountTheValuesBetween) {
  EXPECT_EQ(
      *ulps_between(Format::bf16, encode(Format::bf16, 1.0), encode(Format::bf16, 1.0 + 0x1p-7)),
      1U);
  EXPECT_EQ(*ulps_between(Format::fp32, encode(Format::fp32, -0.0), encode(Format::fp32, 0.0)), 0U);
  EXPECT_EQ(
      *ulps_between(Format::fp16, encode(Format::fp16, -0x1p-24), encode(Format::fp16, 0x1p-24)),
      2U);
  EXPECT_FALSE(ulps_between(Format::fp16, 0x7E00, 0));
}

TEST(Format, NamesOfTheFrameworksAreKnown) {
  EXPECT_EQ(format_of("torch.bfloat16"), Format::bf16);
  EXPECT_EQ(format_of("F8_E4M3"), Format::fp8_e4m3);
  EXPECT_EQ(format_of("half"), Format::fp16);
  EXPECT_FALSE(format_of("int8"));
}

}  // namespace
}  // namespace aplomb::numerics
