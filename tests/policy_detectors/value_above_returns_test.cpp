#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// Mean action values that go from 1 to `value`, beside returns about `earned`.
RunOf learner(double value, double earned) {
  RunOf run;
  for (int i = 0; i < 40; ++i) {
    run.at("Q mean", record::Role::other, i * 100, 1 + (value - 1) * i / 39.0);
    run.at("reward", record::Role::reward, i * 100, earned + (i % 3 - 1) * 0.05 * earned);
  }
  return run;
}

TEST(ValueAboveReturns, ValuesThatLiveOnThemselves) {
  const auto symptoms = learner(64, 10).detect();
  const detectors::Symptom* found = find(symptoms, "value.above_returns");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_NEAR(number(found, "value"), 64, 1e-9);
  EXPECT_NEAR(number(found, "best_return"), 10.5, 1e-9);
}

TEST(ValueAboveReturns, ValuesBelowWhatIsEarnedAreSound) {
  EXPECT_FALSE(has(learner(80, 190).detect(), "value.above_returns"));
}

TEST(ValueAboveReturns, CostsSayNothing) {
  EXPECT_FALSE(has(learner(5, -120).detect(), "value.above_returns"));
}

}  // namespace
}  // namespace aplomb::testing
