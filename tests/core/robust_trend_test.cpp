#include "core/robust_trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aplomb::core {
namespace {

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}
  double operator()(double level, double sigma) { return level + sigma * normal_(engine_); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

TEST(RobustTrend, KnowsLevelAndNoiseOfPlainNoise) {
  Noise noise(1);
  RobustTrend trend;
  for (int i = 0; i < 1000; ++i) trend.update(noise(2.0, 0.1));
  EXPECT_NEAR(trend.level(), 2.0, 0.06);
  EXPECT_NEAR(trend.noise(), 0.1, 0.03);
}

TEST(RobustTrend, AnOutlierOfAnySizeChangesNothingForTheNext) {
  Noise noise(2);
  RobustTrend trend;
  for (int i = 0; i < 300; ++i) trend.update(noise(2.0, 0.1));
  const double level = trend.level();
  const double spread = trend.noise();
  const TrendJudgement first = trend.update(1e12);
  EXPECT_TRUE(first.outlier);
  EXPECT_DOUBLE_EQ(trend.level(), level);
  EXPECT_DOUBLE_EQ(trend.noise(), spread);
  EXPECT_GT(trend.update(5.0).z, 20);
}

TEST(RobustTrend, AStepToANewLevelIsFollowedWithinTwelveSamples) {
  Noise noise(3);
  RobustTrend trend;
  for (int i = 0; i < 300; ++i) trend.update(noise(2.0, 0.05));
  bool shifted = false;
  for (int i = 0; i < 12; ++i) shifted = trend.update(noise(3.0, 0.05)).shifted || shifted;
  EXPECT_TRUE(shifted);
  EXPECT_NEAR(trend.level(), 3.0, 0.1);
  EXPECT_FALSE(trend.update(3.0).outlier);
}

TEST(RobustTrend, ASteepFallIsNeitherOutlierNorNoise) {
  Noise noise(4);
  RobustTrend trend;
  int outliers_above = 0;
  for (int i = 0; i < 400; ++i) {
    const TrendJudgement judgement = trend.update(noise(1.5 + 8.0 * std::exp(-i / 60.0), 0.02));
    outliers_above += judgement.judged && judgement.z > RobustTrend::k_outlier ? 1 : 0;
  }
  EXPECT_EQ(outliers_above, 0);
  EXPECT_LT(trend.noise(), 0.1);
}

TEST(RobustTrend, GrownNoiseIsLearnt) {
  Noise noise(5);
  RobustTrend trend;
  for (int i = 0; i < 400; ++i) trend.update(noise(2.0, 0.02));
  for (int i = 0; i < 600; ++i) trend.update(noise(2.0, 0.2));
  EXPECT_GT(trend.noise(), 0.1);
}

TEST(RobustTrend, AConstantSeriesHasAFloorUnderItsNoise) {
  RobustTrend trend;
  for (int i = 0; i < 50; ++i) trend.update(0.6931);
  const TrendJudgement judgement = trend.update(0.6932);
  EXPECT_TRUE(std::isfinite(judgement.z));
  EXPECT_LT(std::fabs(judgement.z), 2.0);
}

}  // namespace
}  // namespace aplomb::core
