#include "compare/ending.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

using test::falling_loss;

constexpr std::size_t k_size = 300;

Pairs pairs_of(std::vector<double> a, std::vector<double> b) {
  Pairs pairs;
  for (std::size_t i = 0; i < a.size(); ++i) pairs.at.push_back(static_cast<double>(i + 1));
  pairs.a = std::move(a);
  pairs.b = std::move(b);
  return pairs;
}

TEST(Ending, AveragesTheLastTenth) {
  const Ending ending = ending_of(pairs_of(falling_loss(1, k_size), falling_loss(2, k_size)), {});
  EXPECT_EQ(ending.samples, 30U);
  EXPECT_NEAR(ending.a, 2, 0.05);
  EXPECT_EQ(ending.basis, Basis::within);
  EXPECT_NEAR(ending.noise, 0.05 * std::sqrt(2.0 / 30), 0.006);
}

TEST(Ending, EqualRunsSeldomDifferAndOthersDo) {
  int alarms = 0;
  int found = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const std::vector<double> a = falling_loss(2 * draw, k_size);
    std::vector<double> b = falling_loss(2 * draw + 1, k_size);
    alarms += ending_of(pairs_of(a, b), {}).beyond_noise(1) ? 1 : 0;
    for (double& each : b) each += 0.1;
    found += ending_of(pairs_of(a, b), {}).beyond_noise(1) ? 1 : 0;
  }
  EXPECT_LE(alarms, 6);  // 1 % accepted
  EXPECT_GE(found, 198);
}

TEST(Ending, ACurveThatStillRisesDiffersFromOneThatFell) {
  const std::vector<double> a = falling_loss(1, 100);
  test::Gauss gauss(2);
  std::vector<double> b = falling_loss(3, 100);
  for (std::size_t i = 40; i < 100; ++i) {  // a trend and slow swings: neighbours are alike
    const auto since = static_cast<double>(i - 40);
    b[i] += 0.12 * since + 0.4 * std::sin(since / 4) + 0.1 * gauss();
  }
  EXPECT_TRUE(ending_of(pairs_of(a, b), {}).beyond_noise(2));
}

TEST(Ending, HeldOutDataDoesNotAverageOut) {
  const Pairs pairs = pairs_of(falling_loss(1, k_size), falling_loss(2, k_size));
  const double batches = ending_of(pairs, {}, Measured::on_batches).noise;
  const double held_out = ending_of(pairs, {}, Measured::on_held_out).noise;
  EXPECT_NEAR(held_out / batches, std::sqrt(30.0), 1);
}

TEST(Ending, SmoothedLogsSeldomDiffer) {
  int alarms = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    std::vector<std::vector<double>> runs;
    for (const std::uint64_t seed : {2 * draw, 2 * draw + 1}) {
      runs.push_back(falling_loss(seed, k_size, 0.2));
      for (std::size_t i = 1; i < k_size; ++i)
        runs.back()[i] = 0.5 * (runs.back()[i - 1] + runs.back()[i]);
    }
    alarms += ending_of(pairs_of(runs[0], runs[1]), {}).beyond_noise(1) ? 1 : 0;
  }
  EXPECT_LE(alarms, 6);
}

TEST(Ending, SeedsSayWhatIsNoise) {
  int blind = 0;
  int alarms = 0;
  int found = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto run = [&](std::uint64_t which) {
      return falling_loss(10 * draw + which, k_size, 0.05, 0.1);
    };
    const std::vector<std::vector<double>> seeds = {run(2), run(3), run(4)};
    std::vector<double> b = run(1);
    blind += ending_of(pairs_of(run(0), b), {}).beyond_noise(1) ? 1 : 0;
    alarms += ending_of(pairs_of(run(0), b), {seeds, {}}).beyond_noise(1) ? 1 : 0;
    for (double& each : b) each += 1;
    found += ending_of(pairs_of(run(0), b), {seeds, {}}).beyond_noise(1) ? 1 : 0;
  }
  EXPECT_GT(blind, 100);
  EXPECT_LE(alarms, 18);  // 10 expected at 5 %; more than 18 have a chance of 0.6 %
  EXPECT_GE(found, 195);
}

TEST(Ending, RunsOfBothSidesAreComparedByTheirMeans) {
  int alarms = 0;
  int found = 0;
  int found_by_one = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto run = [&](std::uint64_t which, double shift) {
      std::vector<double> values = falling_loss(20 * draw + which, k_size, 0.05, 0.1);
      for (double& each : values) each += shift;
      return values;
    };
    const std::vector<std::vector<double>> more = {run(2, 0), run(3, 0), run(4, 0)};
    const auto judged = [&](double shift) {
      return ending_of(pairs_of(run(1, 0), run(5, shift)),
                       {more, {run(6, shift), run(7, shift), run(8, shift)}});
    };
    alarms += judged(0).beyond_noise(1) ? 1 : 0;
    const Ending apart = judged(0.35);
    EXPECT_EQ(apart.basis, Basis::groups);
    EXPECT_EQ(apart.runs_a, 4U);
    EXPECT_EQ(apart.runs_b, 4U);
    found += apart.beyond_noise(1) ? 1 : 0;
    found_by_one +=
        ending_of(pairs_of(run(1, 0), run(5, 0.35)), {more, {}}).beyond_noise(1) ? 1 : 0;
  }
  EXPECT_LE(alarms, 18);  // 10 expected at 5 %
  EXPECT_GT(found, 170);
  EXPECT_GT(found, found_by_one + 40);  // what the further runs of B are for
}

TEST(Ending, OneRunOfTheBaselineIsJudgedByTheSeedsOfTheOther) {
  const auto run = [](std::uint64_t seed, double shift) {
    std::vector<double> values = falling_loss(seed, k_size, 0.05, 0.1);
    for (double& each : values) each += shift;
    return values;
  };
  const std::vector<std::vector<double>> more = {run(3, 2), run(4, 2), run(5, 2)};
  const Ending ending = ending_of(pairs_of(run(1, 0), run(2, 2)), {{}, more});
  EXPECT_EQ(ending.basis, Basis::groups);
  EXPECT_DOUBLE_EQ(ending.freedom, 3);
  EXPECT_TRUE(ending.beyond_noise(1));
  EXPECT_NEAR(ending.difference(), 2, 0.4);
}

TEST(Ending, OneSeedSeesOnlyTheVeryLarge) {
  const auto run = [](std::uint64_t seed) { return falling_loss(seed, k_size, 0.05, 0.1); };
  const Ending ending = ending_of(pairs_of(run(1), run(2)), {{run(3)}, {}});
  EXPECT_DOUBLE_EQ(ending.freedom, 1);
  EXPECT_FALSE(ending.beyond_noise(1));
}

TEST(Ending, SharingTheLevelAsksForMore) {
  Ending ending;
  ending.basis = Basis::within;
  ending.p = 0.004;
  EXPECT_TRUE(ending.beyond_noise(2));
  EXPECT_FALSE(ending.beyond_noise(3));
}

TEST(Ending, OnlyOneInNanIsADifference) {
  const std::vector<double> a = falling_loss(1, 40);
  std::vector<double> b = falling_loss(2, 40);
  for (std::size_t i = 20; i < 40; ++i) b[i] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(ending_of(pairs_of(a, b), {}).beyond_noise(1));
  EXPECT_FALSE(ending_of(pairs_of(b, b), {}).beyond_noise(1));
}

TEST(Ending, AFewSamplesHaveNoNoise) {
  const Ending ending = ending_of(pairs_of({3, 2, 1}, {3, 2, 2}), {});
  EXPECT_EQ(ending.basis, Basis::none);
  EXPECT_FALSE(ending.beyond_noise(1));
}

}  // namespace
}  // namespace aplomb::compare
