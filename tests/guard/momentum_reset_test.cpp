#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::Loop;

int resets_of_row(Loop& loop, int length) {
  int resets = 0;
  for (int i = 0; i < length; ++i) resets += loop.feed(5.0, 1.0).reset_momentum ? 1 : 0;
  return resets;
}

TEST(MomentumReset, AsksOnceWhenALossSpikeLasts) {
  Loop loop;
  loop.calm(100);
  EXPECT_EQ(resets_of_row(loop, 5), 1);
}

TEST(MomentumReset, LeavesAlonePassingSpikes) {
  Loop loop;
  loop.calm(100);
  EXPECT_EQ(resets_of_row(loop, 2), 0) << "both were skipped: no momentum was touched";
}

TEST(MomentumReset, WaitsBeforeItAsksAgain) {
  Loop loop({.lower_lr = false});
  loop.calm(100);
  EXPECT_EQ(resets_of_row(loop, 4), 1);
  loop.calm(400);
  EXPECT_EQ(resets_of_row(loop, 4), 0);
  loop.calm(400);
  EXPECT_EQ(resets_of_row(loop, 4), 1);
}

TEST(MomentumReset, CanBeSwitchedOff) {
  Loop loop({.reset_momentum = false});
  loop.calm(100);
  EXPECT_EQ(resets_of_row(loop, 5), 0);
}

}  // namespace
}  // namespace aplomb::guard
