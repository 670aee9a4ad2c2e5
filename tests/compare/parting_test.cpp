#include "compare/parting.h"

#include <gtest/gtest.h>

#include <limits>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

using test::falling_loss;

constexpr std::size_t k_size = 300;
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

Pairs pairs_of(std::vector<double> a, std::vector<double> b) {
  Pairs pairs;
  for (std::size_t i = 0; i < a.size(); ++i) pairs.at.push_back(static_cast<double>(i + 1));
  pairs.a = std::move(a);
  pairs.b = std::move(b);
  return pairs;
}

std::vector<double> shifted(std::vector<double> values, std::size_t from, double by) {
  for (std::size_t i = from; i < values.size(); ++i) values[i] += by;
  return values;
}

TEST(Likeness, TellsTheLastBitFromTheDigitsWritten) {
  std::vector<double> a = falling_loss(1, 100);
  std::vector<double> b = a;
  EXPECT_EQ(likeness_of(pairs_of(a, b)).bits, 100U);
  b[40] *= 1 + 1e-7;
  EXPECT_EQ(likeness_of(pairs_of(a, b)).bits, 40U);
  EXPECT_EQ(likeness_of(pairs_of(a, b)).digits, 100U);
  b[60] *= 1.001;
  EXPECT_EQ(likeness_of(pairs_of(a, b)).digits, 60U);
}

TEST(Likeness, ANumberEqualsItsPrintedForm) {
  const std::vector<double> full = falling_loss(1, 100);
  std::vector<double> printed = full;
  for (double& each : printed) each = std::round(each * 1e3) / 1e3;
  EXPECT_EQ(likeness_of(pairs_of(full, printed)).digits, 100U);
  EXPECT_LT(likeness_of(pairs_of(full, printed)).bits, 5U);
}

TEST(Likeness, TwoNanAreEqualAndOneIsABreak) {
  const Pairs both = pairs_of({1, k_nan, 3}, {1, k_nan, 3});
  EXPECT_EQ(likeness_of(both).bits, 3U);
  EXPECT_FALSE(first_broken(both));
  EXPECT_EQ(first_broken(pairs_of({1, 2, 3}, {1, k_nan, 3})), 1U);
}

TEST(Parting, IsFoundWhereALastingDifferenceBegins) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto at = parting_of(pairs_of(falling_loss(2 * seed, k_size),
                                        shifted(falling_loss(2 * seed + 1, k_size), 150, 0.2)));
    ASSERT_TRUE(at) << seed;
    EXPECT_NEAR(static_cast<double>(*at), 150, 6) << seed;
  }
}

TEST(Parting, IsFoundInRunsThatWereOneUntilThere) {
  const std::vector<double> a = falling_loss(7, k_size);
  test::Gauss gauss(9);
  std::vector<double> b = a;
  for (std::size_t i = 120; i < k_size; ++i) b[i] += 0.1 + 0.01 * gauss();
  EXPECT_EQ(parting_of(pairs_of(a, b)), 120U);
}

TEST(Parting, EqualRunsSeldomPart) {
  int alarms = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw)
    alarms +=
        parting_of(pairs_of(falling_loss(2 * draw, k_size), falling_loss(2 * draw + 1, k_size)))
            ? 1
            : 0;
  // 2 expected of 200; more than 6 have a chance of 0.5 % (binomial).
  EXPECT_LE(alarms, 6);
}

TEST(Parting, SmoothedLogsSeldomPart) {
  int alarms = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    std::vector<std::vector<double>> runs;
    for (const std::uint64_t seed : {2 * draw, 2 * draw + 1}) {
      runs.push_back(falling_loss(seed, k_size, 0.2));
      for (std::size_t i = 1; i < k_size; ++i)
        runs.back()[i] = 0.5 * (runs.back()[i - 1] + runs.back()[i]);
    }
    alarms += parting_of(pairs_of(runs[0], runs[1])) ? 1 : 0;
  }
  EXPECT_LE(alarms, 6);
}

TEST(Parting, SingleSpikesAreNone) {
  std::vector<double> b = falling_loss(1, k_size);
  for (std::size_t i = 20; i < k_size; i += 30) b[i] += 100;
  EXPECT_FALSE(parting_of(pairs_of(falling_loss(2, k_size), b)));
}

TEST(Parting, FewSamplesSayNothing) {
  EXPECT_FALSE(parting_of(pairs_of(falling_loss(1, 15), shifted(falling_loss(2, 15), 0, 9))));
  EXPECT_FALSE(parting_of({}));
}

TEST(PartingFromSeeds, KnowsHowFarRunsWander) {
  // Half of the pairs of such runs lie apart by more than the noise inside them.
  int blind = 0;
  int alarms = 0;
  int found = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto run = [&](std::uint64_t which) {
      return falling_loss(10 * draw + which, k_size, 0.05, 0.1);
    };
    const std::vector<std::vector<double>> seeds = {run(2), run(3), run(4), run(5), run(6)};
    blind += parting_of(pairs_of(run(0), run(1))) ? 1 : 0;
    alarms += parting_from_seeds(pairs_of(run(0), run(1)), seeds) ? 1 : 0;
    const auto at = parting_from_seeds(pairs_of(run(0), shifted(run(1), 150, 1.5)), seeds);
    found += at && *at >= 140 && *at <= 160 ? 1 : 0;
  }
  EXPECT_GT(blind, 60);
  EXPECT_LE(alarms, 6);
  EXPECT_GE(found, 190);
}

}  // namespace
}  // namespace aplomb::compare
