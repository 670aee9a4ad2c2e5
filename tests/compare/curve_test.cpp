#include "compare/curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

TEST(Curve, AStepDoneAgainCountsWithItsLastValue) {
  record::Series series;
  for (const auto& [step, value] : {std::pair(1, 5.0), {2, 4.0}, {3, 9.0}, {2, 4.5}, {3, 4.2}})
    series.append(step, value, 0, 1, 0);
  const Curve curve = curve_of(series, record::StepKind::explicit_);
  EXPECT_EQ(curve.at, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(curve.value, (std::vector<double>{5, 4.5, 4.2}));
  EXPECT_EQ(curve_of(series, record::StepKind::ordinal).size(), 5U);
}

TEST(Curve, PairsStandAtTheStepsThatBothHave) {
  const Pairs pairs = pair({{1, 2, 3, 4}, {10, 20, 30, 40}}, {{2, 4, 6}, {21, 41, 61}});
  EXPECT_EQ(pairs.at, (std::vector<double>{2, 4}));
  EXPECT_EQ(pairs.a, (std::vector<double>{20, 40}));
  EXPECT_EQ(pairs.b, (std::vector<double>{21, 41}));
  EXPECT_FALSE(pairs.between);
}

TEST(Curve, WithoutCommonStepsAIsReadBetweenItsSamples) {
  const Pairs pairs = pair({{0, 10, 20}, {0, 100, 200}}, {{5, 15, 25}, {1, 2, 3}});
  EXPECT_TRUE(pairs.between);
  EXPECT_EQ(pairs.at, (std::vector<double>{5, 15}));
  EXPECT_EQ(pairs.a, (std::vector<double>{50, 150}));
}

TEST(Curve, NothingInCommonGivesNoPairs) {
  EXPECT_EQ(pair({{1, 2}, {1, 2}}, {{3, 4}, {1, 2}}).size(), 0U);
  EXPECT_EQ(pair({}, {{3, 4}, {1, 2}}).size(), 0U);
}

TEST(TokenClock, TakesTheRunningCountElseTheTokensOfAStep) {
  aplomb::record::Run counted = test::run_with_loss("a", {3, 2, 1});
  test::add_series(counted, "tokens_seen", record::Role::other, {100, 250, 400});
  const Curve loss = curve_of(*counted.find("loss"), record::StepKind::explicit_);
  EXPECT_EQ(TokenClock::of(counted)->over_tokens(loss).at, (std::vector<double>{100, 250, 400}));

  aplomb::record::Run stated = test::run_with_loss("b", {3, 2, 1});
  EXPECT_FALSE(TokenClock::of(stated));
  test::add_setting(stated, "batch.tokens", 1024.0);
  EXPECT_EQ(TokenClock::of(stated)->over_tokens(loss).at, (std::vector<double>{1024, 2048, 3072}));
}

TEST(TokenClock, TokensOfEachBatchAreNoRunningCount) {
  aplomb::record::Run run = test::run_with_loss("a", {3, 2, 1});
  test::add_series(run, "tokens_seen", record::Role::other, {512, 490, 512});
  EXPECT_FALSE(TokenClock::of(run));
}

}  // namespace
}  // namespace aplomb::compare
