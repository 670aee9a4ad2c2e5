#include "core/tail.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aplomb::core {
namespace {

double student3(std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const double a = normal(engine);
  const double b = normal(engine);
  const double c = normal(engine);
  return normal(engine) / std::sqrt((a * a + b * b + c * c) / 3);
}

TEST(TailWatch, KeepsTheLargestInOrder) {
  TailWatch tail;
  for (int i = 0; i < 1000; ++i) tail.add(static_cast<double>((i * 379) % 1000), i);
  ASSERT_EQ(tail.largest().size(), TailWatch::k_kept);
  for (std::size_t i = 0; i < TailWatch::k_kept; ++i)
    EXPECT_DOUBLE_EQ(tail.largest()[i].magnitude, static_cast<double>(999 - i));
}

TEST(TailWatch, NoiseAloneGivesOutliersNoMoreOftenThanSaid) {
  int gaussian = 0;
  int heavy = 0;
  constexpr int k_runs = 1000;
  for (int seed = 0; seed < k_runs; ++seed) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(seed));
    std::normal_distribution<double> normal;
    TailWatch thin;
    TailWatch fat;
    for (int i = 0; i < 1000; ++i) {
      thin.add(std::fabs(normal(engine)));
      fat.add(std::fabs(student3(engine)));
    }
    gaussian += thin.outliers(0.01) > 0 ? 1 : 0;
    heavy += fat.outliers(0.01) > 0 ? 1 : 0;
  }
  EXPECT_LE(gaussian, k_runs * 15 / 1000);
  EXPECT_LE(heavy, k_runs * 20 / 1000);
}

TEST(TailWatch, FindsOneAndSeveralOutliersInGaussianNoise) {
  int one = 0;
  int three = 0;
  constexpr int k_runs = 200;
  for (int seed = 0; seed < k_runs; ++seed) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(seed));
    std::normal_distribution<double> normal;
    TailWatch tail;
    for (int i = 0; i < 2000; ++i) tail.add(std::fabs(normal(engine)));
    tail.add(15);
    one += tail.outliers(0.01) == 1 ? 1 : 0;
    tail.add(16);
    tail.add(60);
    three += tail.outliers(0.01) == 3 ? 1 : 0;
  }
  EXPECT_GE(one, k_runs * 97 / 100);
  EXPECT_GE(three, k_runs * 97 / 100);
}

TEST(TailWatch, SaysNothingFromAHandfulOfSamples) {
  TailWatch tail;
  for (const double each : {1.0, 0.5, 900.0}) tail.add(each);
  EXPECT_EQ(tail.outliers(0.01), 0U);
}

}  // namespace
}  // namespace aplomb::core
