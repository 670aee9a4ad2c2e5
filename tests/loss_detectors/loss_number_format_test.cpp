#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

double rounded(double value, double unit) { return std::round(value / unit) * unit; }

TEST(NumberFormat, LossesInStepsOfASixtyFourthAreOfBf16) {
  Draw draw(12);
  std::vector<double> losses;
  for (int i = 0; i < 40; ++i)
    losses.push_back(rounded(rounded(2.3 + 0.2 * draw.normal(), 1.0 / 64), 1e-4));
  const auto symptoms = RunOf().loss(losses).detect();
  EXPECT_TRUE(has(symptoms, "loss.in_bf16")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "loss.in_fp16"));
}

TEST(NumberFormat, LossesOfTheFormatWithElevenBitsAreOfFp16) {
  Draw draw(13);
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i)
    losses.push_back(rounded(rounded(2.7 + 0.2 * draw.normal(), 1.0 / 512), 1e-6));
  const auto symptoms = RunOf().loss(losses).detect();
  EXPECT_TRUE(has(symptoms, "loss.in_fp16")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "loss.in_bf16"));
}

TEST(NumberFormat, PrintedDigitsAreNoFormat) {
  for (const double unit : {0.1, 0.01, 1e-3, 1e-4, 1e-6}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      Draw draw(seed);
      std::vector<double> losses;
      for (int i = 0; i < 40; ++i) losses.push_back(rounded(2.3 + 0.3 * draw.normal(), unit));
      const auto symptoms = RunOf().loss(losses).detect();
      EXPECT_FALSE(has(symptoms, "loss.in_bf16")) << unit << " " << seed;
      EXPECT_FALSE(has(symptoms, "loss.in_fp16")) << unit << " " << seed;
    }
  }
}

}  // namespace
}  // namespace aplomb::testing
