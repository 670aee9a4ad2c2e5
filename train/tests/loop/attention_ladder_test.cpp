#include "train/loop/attention_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

std::string walk(AttentionLadder& ladder, int steps, double seconds, bool good = true) {
  std::string said;
  for (int i = 0; i < steps; ++i) said += ladder.note(good, 1000, seconds).said;
  return said;
}

TEST(AttentionLadder, ClimbsWhileEachRungIsHealthyAndTellsTheSpeedUp) {
  AttentionLadder ladder({"eager", "sdpa"}, 100, true);
  EXPECT_EQ(walk(ladder, 99, 2), "");
  EXPECT_EQ(ladder.rung(), "eager");
  EXPECT_THAT(walk(ladder, 1, 2), HasSubstr("100 steps on eager without a bad one; now sdpa"));
  EXPECT_EQ(ladder.rung(), "sdpa");
  walk(ladder, 1, 50);  // its first step does not count
  EXPECT_THAT(walk(ladder, 99, 1),
              HasSubstr("2.00x the tokens/s of the rung before; the last rung"));
  EXPECT_EQ(walk(ladder, 500, 1), "");
}

TEST(AttentionLadder, GoesBackAtTheFirstBadStepAndStays) {
  AttentionLadder ladder({"eager", "sdpa", "flash"}, 10, true);
  walk(ladder, 20, 1);
  EXPECT_EQ(ladder.rung(), "flash");
  walk(ladder, 3, 1);
  const auto move = ladder.note(false, 1000, 1);
  EXPECT_EQ(move.to, "sdpa");
  EXPECT_THAT(move.said, HasSubstr("a bad step on flash after 4 steps: back to sdpa"));
  EXPECT_EQ(walk(ladder, 100, 1), "");
  EXPECT_EQ(ladder.rung(), "sdpa");
}

TEST(AttentionLadder, ABadStepOnTheSafestRungIsNotTheAttentions) {
  AttentionLadder ladder({"eager", "sdpa"}, 10, true);
  EXPECT_EQ(ladder.note(false, 1000, 1).to, "");
  walk(ladder, 9, 1);
  EXPECT_EQ(ladder.rung(), "sdpa");
}

TEST(AttentionLadder, LeavesARungThatIsSlower) {
  AttentionLadder ladder({"eager", "sdpa", "flash"}, 10, true);
  walk(ladder, 10, 1);
  EXPECT_EQ(ladder.rung(), "sdpa");
  EXPECT_THAT(walk(ladder, 10, 1.2),
              HasSubstr("0.83x the tokens/s of the rung before; back to eager"));
  EXPECT_EQ(walk(ladder, 100, 1), "");
  EXPECT_EQ(ladder.rung(), "eager");

  AttentionLadder among_ranks({"eager", "sdpa"}, 10, false);
  walk(among_ranks, 10, 1);
  EXPECT_THAT(walk(among_ranks, 10, 1.2), HasSubstr("0.83x"));
  EXPECT_EQ(among_ranks.rung(), "sdpa");
}

TEST(AttentionLadder, GoesOnWhereItWasSaved) {
  AttentionLadder ladder({"eager", "sdpa"}, 10, true), other({"eager", "sdpa"}, 10, true);
  walk(ladder, 14, 1);
  ASSERT_TRUE(other.restore(ladder.state()));
  for (AttentionLadder* each : {&ladder, &other}) {
    EXPECT_EQ(each->rung(), "sdpa");
    EXPECT_EQ(walk(*each, 5, 1), "");
    EXPECT_THAT(walk(*each, 1, 1), HasSubstr("the last rung"));
  }
  EXPECT_EQ(ladder.state(), other.state());
  AttentionLadder fixed({}, 10, true);
  EXPECT_FALSE(fixed.restore(ladder.state()));
  EXPECT_TRUE(fixed.restore(fixed.state()));
  EXPECT_EQ(walk(fixed, 50, 1, false), "");
}

}  // namespace
}  // namespace aplomb::train::loop
