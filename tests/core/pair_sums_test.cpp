#include "core/pair_sums.h"

#include <gtest/gtest.h>

namespace aplomb::core {
namespace {

TEST(PairSums, CorrelationOfLinesOfNothingAndOfWhatDoesNotVary) {
  PairSums falling;
  PairSums square;
  PairSums flat;
  for (int i = -10; i <= 10; ++i) {
    falling.add(i, 1e6 - 3.0 * i);
    square.add(i, i * i);
    flat.add(i, 7);
  }
  EXPECT_NEAR(falling.correlation(), -1, 1e-9);
  EXPECT_NEAR(square.correlation(), 0, 1e-12);
  EXPECT_EQ(flat.correlation(), 0);
  EXPECT_EQ(falling.count(), 21U);
  EXPECT_NEAR(falling.mean_x(), 0, 1e-12);
}

}  // namespace
}  // namespace aplomb::core
