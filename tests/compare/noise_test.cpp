#include "compare/noise.h"

#include <gtest/gtest.h>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

TEST(Noise, IsWhatTheTrendLeaves) {
  const Noise noise = noise_of(test::falling_loss(1, 400, 0.05));
  for (std::size_t i = 60; i < 400; i += 20) EXPECT_NEAR(noise.sigma[i], 0.055, 0.025) << i;
  EXPECT_LT(noise.inflation(), 1.3);
}

TEST(Noise, SpikesAreNone) {
  std::vector<double> loss = test::falling_loss(1, 400, 0.05);
  for (std::size_t i = 100; i < 400; i += 40) loss[i] += 50;
  EXPECT_LT(noise_of(loss).sigma[200], 0.09);
}

TEST(Noise, SmoothedLogsAreWorthFewerSamples) {
  test::Gauss gauss(3);
  std::vector<double> smooth;
  double level = 0;
  for (int i = 0; i < 2000; ++i) smooth.push_back(level += 0.2 * (gauss() - level));
  // Neighbours of such an average correlate by 0.8: inflation 3; the running median takes a part.
  EXPECT_GT(noise_of(smooth).inflation(), 1.8);
}

TEST(Noise, TooFewSamplesHaveNone) {
  EXPECT_EQ(noise_of({1, 2, 3, 4}).sigma, std::vector<double>(4, 0.0));
  EXPECT_TRUE(noise_of({}).sigma.empty());
}

TEST(RunningMedian, IsTheMedianOfTheNeighboursOnBothSides) {
  EXPECT_EQ(running_median({5, 1, 9, 2, 3}, 1), (std::vector<double>{5, 5, 2, 3, 3}));
  const std::vector<double> line = test::falling_loss(2, 100, 0);
  EXPECT_EQ(running_median(line, 16), line);  // a monotonic curve is its own median
}

TEST(Rounding, IsHalfAUnitOfTheLastDigitWritten) {
  EXPECT_NEAR(rounding_of({5.55, 4.118, 1.02, 0.06123})[1], 0.0005, 1e-9);  // four significant
  EXPECT_NEAR(rounding_of({5.55, 4.118, 1.02, 0.06123})[3], 0.000005, 1e-9);
  EXPECT_NEAR(rounding_of({5.123, 0.004, 1.2, 12.345})[1], 0.0005, 1e-9);  // three decimals
  const double third = 1.0 / 3;
  EXPECT_NEAR(rounding_of({third, 2 * third, 4 * third, third / 7})[0], 1.3e-6 * third, 1e-12);
}

}  // namespace
}  // namespace aplomb::compare
