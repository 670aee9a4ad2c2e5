#include "diagnosis/trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aplomb::diagnosis {
namespace {

std::vector<double> noisy(std::size_t count, double sigma, double (*level)(double), unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count);
    values.push_back(level(at) + sigma * normal(random));
  }
  return values;
}

double flat(double) { return 2; }
double slow_fall(double at) { return 1.3 - 0.2 * at; }
double rise(double at) { return 0.2 + 0.7 * at; }
double early_fall(double at) { return 6 + 4 * std::exp(-30 * at); }
double there_and_back(double at) { return at < 0.5 ? 3 - 3 * at : 3 * at; }

TEST(Trend, NoiseIsNoTrend) {
  int better = 0;
  int worse = 0;
  constexpr int k_rounds = 400;
  for (unsigned seed = 0; seed < k_rounds; ++seed) {
    for (const std::size_t count : {4, 6, 10, 30, 300}) {
      const auto trend = trend_of(noisy(count, 0.1, flat, seed), Better::lower);
      ASSERT_TRUE(trend);
      better += trend->better ? 1 : 0;
      worse += trend->worse ? 1 : 0;
    }
  }
  EXPECT_LT(better, k_rounds * 5 / 50) << "of one hundred series without a trend at most two";
  EXPECT_LT(worse, k_rounds * 5 / 50);
}

TEST(Trend, AFallBeyondTheNoiseIsSeenHoweverFewOrNoisyTheRecords) {
  EXPECT_TRUE(trend_of({2.3, 2.1, 1.9, 1.8, 1.7}, Better::lower)->better);
  EXPECT_TRUE(trend_of({2.31, 1.4, 0.9, 0.62}, Better::lower)->better);
  EXPECT_TRUE(trend_of({2.3, 0.1, 0.09, 0.11, 0.1, 0.1, 0.09}, Better::lower)->better);
  EXPECT_TRUE(trend_of(noisy(500, 0.25, slow_fall, 1), Better::lower)->better)
      << "a fall of less than the noise of a record, over many";
  EXPECT_TRUE(trend_of(noisy(60, 0.1, rise, 1), Better::higher)->better);
  EXPECT_TRUE(trend_of(noisy(60, 0.1, rise, 1), Better::lower)->worse);
}

TEST(Trend, TooFewRecordsSayNothing) {
  EXPECT_FALSE(trend_of({}, Better::lower));
  EXPECT_FALSE(trend_of({3, 2, 1}, Better::lower));
  EXPECT_FALSE(trend_of({3, 2, 1, std::nan("")}, Better::lower));
  EXPECT_TRUE(trend_of({3, 2, std::nan(""), 1, 0.5}, Better::lower)->better);
}

TEST(Trend, ASpikeAtTheStartIsNoFall) {
  std::vector<double> values = noisy(60, 0.05, flat, 5);
  values[3] = 5.2;
  values[5] = 3.9;
  EXPECT_FALSE(trend_of(values, Better::lower)->better);
}

TEST(Trend, SettledMeansNothingGainedAfterTheFirstQuarter) {
  EXPECT_TRUE(trend_of(noisy(60, 0.05, early_fall, 2), Better::lower)->settled);
  EXPECT_FALSE(trend_of(noisy(300, 0.02, slow_fall, 2), Better::lower)->settled);
}

TEST(Trend, TurnedMeansThatItWasBetterThanItEnds) {
  EXPECT_TRUE(trend_of(noisy(40, 0.02, there_and_back, 3), Better::lower)->turned);
  EXPECT_FALSE(trend_of(noisy(300, 0.02, slow_fall, 3), Better::lower)->turned);
  EXPECT_TRUE(trend_of({0.5, 0.7, 0.8, 0.82, 0.6, 0.55}, Better::higher)->turned);
}

TEST(Trend, RoundedValuesAreNotFreeOfNoise) {
  EXPECT_FALSE(trend_of({0.69, 0.69, 0.68, 0.68}, Better::lower)->better);
}

TEST(Trend, ScaleDoesNotMatter) {
  const auto small = trend_of({2.3e-9, 2.1e-9, 1.9e-9, 1.8e-9, 1.7e-9}, Better::lower);
  const auto large = trend_of({2.3e11, 2.1e11, 1.9e11, 1.8e11, 1.7e11}, Better::lower);
  EXPECT_TRUE(small->better);
  EXPECT_TRUE(large->better);
  EXPECT_NEAR(small->gain_frac, large->gain_frac, 1e-9);
  EXPECT_FALSE(trend_of(std::vector<double>(20, 0.0), Better::lower)->better);
}

}  // namespace
}  // namespace aplomb::diagnosis
