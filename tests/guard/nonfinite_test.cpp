#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::k_nan;
using test::Loop;

TEST(Nonfinite, SkipsExactlyTheStepWithANonFiniteLossOrGradient) {
  Loop loop;
  loop.calm(50);
  const GuardVerdict by_loss = loop.feed(k_nan, 1.0);
  EXPECT_EQ(by_loss.action, GuardAction::skip);
  EXPECT_EQ(by_loss.policy, "nonfinite");
  EXPECT_EQ(by_loss.reason(), "loss is nan");
  EXPECT_EQ(loop.feed(2.0, k_nan).action, GuardAction::skip);
  EXPECT_EQ(loop.feed(std::numeric_limits<double>::infinity(), 1.0).action, GuardAction::skip);
  loop.calm(200);
  EXPECT_EQ(loop.guard().counts().skipped, 3U);
}

TEST(Nonfinite, IsActiveFromTheFirstStep) {
  Loop loop;
  EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::skip);
  loop.calm(20);
}

TEST(Nonfinite, AlarmsWhenSuchStepsBecomeFrequent) {
  Loop loop;
  loop.calm(300);
  int alarms = 0;
  for (int i = 0; i < 6; ++i) {
    alarms += loop.feed(2.0, k_nan).reason().find("ALARM") != std::string_view::npos ? 1 : 0;
    loop.calm(5);
  }
  EXPECT_EQ(alarms, 3) << "the fourth to the sixth of the window";
}

TEST(Nonfinite, OneSuchStepNowAndThenIsNoAlarm) {
  Loop loop;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(loop.feed(2.0, k_nan).reason().find("ALARM"), std::string_view::npos);
    loop.calm(60);
  }
}

TEST(Nonfinite, HaltsAfterARowThatNoBatchExplains) {
  Loop loop({.rollback_retries = 0, .most_skips_in_a_row = 20});
  loop.calm(20);
  for (int i = 0; i < 19; ++i) EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::skip);
  const GuardVerdict last = loop.feed(k_nan, k_nan);
  EXPECT_EQ(last.action, GuardAction::halt);
  EXPECT_NE(last.reason().find("20 steps in a row"), std::string_view::npos);
}

TEST(Nonfinite, CanBeSwitchedOff) {
  Loop loop({.skip_nonfinite = false});
  EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::proceed);
}

}  // namespace
}  // namespace aplomb::guard
