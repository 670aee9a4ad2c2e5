#include <cmath>

#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::Loop;

TEST(LowerLr, HalvesWhenTheLossStaysUpAndWarmsUpAgain) {
  Loop loop({.reset_momentum = false});
  loop.calm(100);
  loop.feed(5.0, 1.0);
  loop.feed(5.0, 1.0);
  const GuardVerdict third = loop.feed(5.0, 1.0);
  EXPECT_EQ(third.lr_factor, 0.5);
  EXPECT_EQ(third.policy, "lower_lr");
  double before = 0.5;
  for (int i = 0; i < 200; ++i) {
    const double factor = loop.feed(loop.noise().gauss(2.0, 0.05), 1.0).lr_factor;
    EXPECT_GE(factor, before);
    if (i < 50) {
      EXPECT_EQ(factor, 0.5) << i;
    }
    before = factor;
  }
  EXPECT_EQ(before, 1.0);
}

TEST(LowerLr, SeesAClimbThatNoSingleStepShows) {
  Loop loop;
  loop.calm(500);
  int first = -1;
  for (int i = 0; i < 1500 && first < 0; ++i) {
    const GuardVerdict verdict =
        loop.feed(loop.noise().gauss(2.0 + i * 0.001, 0.05), loop.noise().norm(1.0));
    EXPECT_EQ(verdict.action, GuardAction::proceed);
    if (verdict.lr_factor < 1) first = i;
  }
  EXPECT_GT(first, 500) << "not before 1.3x the best level";
  EXPECT_LT(first, 800);
}

TEST(LowerLr, HoldsARateThatJumpedAboveAllBefore) {
  Loop loop;
  for (int i = 0; i < 100; ++i) loop.feed(loop.noise().gauss(2.0, 0.05), 1.0, 1e-3);
  double applied = 0;
  for (int i = 0; i < 30; ++i) {
    const GuardVerdict verdict = loop.feed(i < 2 ? 2.0 : 6.0, 1.0, 5e-3);
    applied = 5e-3 * verdict.lr_factor;
  }
  EXPECT_NEAR(applied, 1e-3, 1e-12);
  EXPECT_EQ(loop.feed(2.0, 1.0, 9e-4).lr_factor, 1.0) << "the schedule has come down by itself";
}

TEST(LowerLr, LeavesAJumpWithoutTroubleAlone) {
  Loop loop;
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(loop.feed(loop.noise().gauss(2.0, 0.05), 1.0, i < 100 ? 1e-3 : 1e-2).lr_factor, 1.0);
}

TEST(LowerLr, HoldsAJumpOfMoreThanAnOrderOfMagnitudeAtOnce) {
  Loop loop;
  const auto step = [&](double lr) { return loop.feed(loop.noise().gauss(2.0, 0.05), 1.0, lr); };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(step(1e-3).lr_factor, 1.0);
  const GuardVerdict first = step(3e-2);
  EXPECT_EQ(first.policy, "lower_lr");
  EXPECT_EQ(first.action, GuardAction::proceed);
  EXPECT_NEAR(3e-2 * first.lr_factor, 1e-3, 1e-12);
  for (int i = 0; i < 300; ++i) {
    const GuardVerdict verdict = step(3e-2);
    ASSERT_NEAR(3e-2 * verdict.lr_factor, 1e-3, 1e-12) << i;
    ASSERT_TRUE(verdict.policy.empty()) << "said once";
  }
}

TEST(LowerLr, AScheduleThatComesBackIsFollowedAgain) {
  Loop loop;
  const auto step = [&](double lr) { return loop.feed(loop.noise().gauss(2.0, 0.05), 1.0, lr); };
  for (int i = 0; i < 100; ++i) step(1e-3);
  for (int i = 0; i < 5; ++i) EXPECT_LT(step(5e-2).lr_factor, 1.0);
  EXPECT_EQ(step(9e-4).lr_factor, 1.0);
  EXPECT_EQ(step(1e-3).lr_factor, 1.0);
}

TEST(LowerLr, TheFirstRatesOfAWarmUpAreNoJump) {
  Loop loop;
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(loop.feed(2.0, 1.0, 1e-6 * std::pow(1.2, i)).lr_factor, 1.0) << i;
}

TEST(LowerLr, CanBeSwitchedOff) {
  Loop loop({.lower_lr = false});
  loop.calm(100);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(loop.feed(5.0, 1.0).lr_factor, 1.0);
}

}  // namespace
}  // namespace aplomb::guard
