#include <gtest/gtest.h>

#include <cmath>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> decays(double factor) {
  return curve(25, [&](double i) { return 0.22 * std::pow(factor, i); }, [] { return 0.0; });
}

TEST(WeightsVanish, ASizeThatFallsToNothingIsTold) {
  const auto symptoms = RunOf().with("|user|", record::Role::other, decays(0.4)).detect();
  const detectors::Symptom* found = find(symptoms, "weights.vanish");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_DOUBLE_EQ(number(found, "first"), 0.22);
}

TEST(WeightsVanish, TheNormOfAllWeightsAsWell) {
  EXPECT_TRUE(has(RunOf().with("param_norm", record::Role::param_norm, decays(0.5)).detect(),
                  "weights.vanish"));
}

TEST(WeightsVanish, WeightsThatShrinkByAThirdAreSound) {
  EXPECT_FALSE(has(RunOf().with("param_norm", record::Role::param_norm, decays(0.98)).detect(),
                   "weights.vanish"));
}

TEST(WeightsVanish, ASingleZeroAtTheEndIsNone) {
  std::vector<double> sizes(25, 0.22);
  sizes.back() = 0;
  EXPECT_FALSE(has(RunOf().with("|user|", record::Role::other, sizes).detect(), "weights.vanish"));
}

TEST(WeightsVanish, SizesOfGradientsFallAsTheyShould) {
  EXPECT_FALSE(
      has(RunOf().with("|g_enc|", record::Role::other, decays(0.4)).detect(), "weights.vanish"));
}

}  // namespace
}  // namespace aplomb::testing
