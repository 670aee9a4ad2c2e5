#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossCreep, AFallOfOneDigitARecord) {
  const auto symptoms =
      RunOf().loss({1.61918, 1.61917, 1.61916, 1.61916, 1.61915, 1.61915, 1.61914}).detect();
  EXPECT_TRUE(has(symptoms, "loss.creeps")) << told(symptoms);
}

TEST(LossCreep, AFlatLossWandersAndALearningOneFallsFurther) {
  EXPECT_FALSE(
      has(RunOf().loss({1.6192, 1.6188, 1.6195, 1.6190, 1.6187, 1.6191}).detect(), "loss.creeps"));
  EXPECT_FALSE(
      has(RunOf().loss({1.62, 1.60, 1.58, 1.57, 1.56, 1.55, 1.54}).detect(), "loss.creeps"));
  EXPECT_FALSE(
      has(RunOf().loss({1.62, 1.6185, 1.6185, 1.6185, 1.6185, 1.6185}).detect(), "loss.creeps"));
  EXPECT_FALSE(has(RunOf().loss({1.6192, 1.6192, 1.6192, 1.6192, 1.6192}).detect(), "loss.creeps"));
}

}  // namespace
}  // namespace aplomb::testing
