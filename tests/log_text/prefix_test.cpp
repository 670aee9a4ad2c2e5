#include "log_text/prefix.h"

#include <gtest/gtest.h>

namespace aplomb::log_text {
namespace {

TEST(Prefix, RanksInWordsWhereSeveralSpeakInTurn) {
  constexpr std::string_view k_head =
      "world size 2\n"
      "rank 0 epoch 0 train 2.30 |w| 521.7\nrank 1 epoch 0 train 2.31 |w| 524.9\n"
      "rank 0 epoch 1 train 2.03 |w| 547.1\nrank 1 epoch 1 train 2.13 |w| 544.7\n";
  const PrefixStyle style = prefix_style(k_head);
  EXPECT_TRUE(style.worded);
  const Prefix found = read_prefix("rank 1 epoch 1 train 2.13", style);
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.size, 7U);
}

TEST(Prefix, ARankThatIsTheSubjectOfASentenceIsNone) {
  const PrefixStyle style = prefix_style(
      "rank 8 adapters on 32 layers\nstep 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n");
  EXPECT_FALSE(style.worded);
  EXPECT_EQ(read_prefix("rank 8 adapters", style).rank, -1);
}

}  // namespace
}  // namespace aplomb::log_text
