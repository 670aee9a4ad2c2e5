#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::k_nan;
using test::Loop;

TEST(Spike, SkipsABatchWhoseLossStandsApart) {
  Loop loop;
  loop.calm(100);
  const GuardVerdict verdict = loop.feed(4.0, 1.0);
  EXPECT_EQ(verdict.action, GuardAction::skip);
  EXPECT_EQ(verdict.policy, "spike");
  EXPECT_NE(verdict.reason().find("loss 4 is 1.99x its level"), std::string_view::npos)
      << verdict.reason();
  loop.calm(100);
}

TEST(Spike, SkipsAGradientTenTimesTheUsualAndClipsASmallerOne) {
  Loop loop;
  loop.calm(100);
  EXPECT_EQ(loop.feed(2.0, 30.0).action, GuardAction::skip);
  loop.calm(50);
  const GuardVerdict verdict = loop.feed(2.0, 5.0);
  ASSERT_EQ(verdict.action, GuardAction::clip);
  EXPECT_NEAR(verdict.scale * 5.0, 1.0, 0.15) << "to the usual norm";
  EXPECT_FALSE(verdict.reason().empty());
}

TEST(Spike, IsNotPoisonedByNaNNorByEarlierSpikes) {
  Loop loop;
  loop.calm(100);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::skip);
    loop.calm(9);
    EXPECT_EQ(loop.feed(160.0, 80.0).action, GuardAction::skip) << i;
    loop.calm(9);
    EXPECT_EQ(loop.feed(4.0, 1.0).action, GuardAction::skip) << "the small one after a large one";
    loop.calm(20);
  }
}

TEST(Spike, CostsANewMixtureOfDataNothing) {
  Loop loop;
  loop.calm(200, 2.0);
  loop.calm(200, 2.6);
}

TEST(Spike, SkipsNoMoreThanTwoInARowOfALastingNewLevel) {
  Loop loop({.reset_momentum = false, .lower_lr = false});
  loop.calm(200);
  int skipped = 0;
  for (int i = 0; i < 100; ++i)
    skipped += loop.feed(loop.noise().gauss(5.0, 0.05), 1.0).action == GuardAction::skip ? 1 : 0;
  EXPECT_EQ(skipped, 2);
}

TEST(Spike, StaysSilentOnAFallingLossFromTheFirstStep) {
  Loop loop;
  for (int i = 0; i < 2000; ++i) {
    const double loss = 2.0 + 9.0 * std::exp(-i / 60.0);
    const double norm = 1.0 + 20.0 * std::exp(-i / 20.0);
    const GuardVerdict verdict = loop.feed(loop.noise().gauss(loss, 0.05), loop.noise().norm(norm));
    EXPECT_EQ(verdict.action, GuardAction::proceed) << i << ": " << verdict.reason();
  }
}

TEST(Spike, StaysSilentOnAPolicyLoss) {
  Loop loop({.loss_has_level = false});
  for (int i = 0; i < 500; ++i) {
    const double loss = i % 40 == 0 ? 30.0 : loop.noise().gauss(0.0, 0.01);
    EXPECT_EQ(loop.feed(loss, loop.noise().norm(1.0)).action, GuardAction::proceed) << i;
  }
}

}  // namespace
}  // namespace aplomb::guard
