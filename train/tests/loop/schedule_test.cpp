#include "train/loop/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::train::loop {
namespace {

// By hand from the definitions of transformers' get_*_schedule_with_warmup (optimization.py).
TEST(Schedule, WarmsUpLinearlyFromZero) {
  for (const auto shape :
       {Schedule::Shape::constant, Schedule::Shape::linear, Schedule::Shape::cosine}) {
    const Schedule schedule(shape, 4, 20);
    EXPECT_DOUBLE_EQ(schedule.factor(0), 0.0);
    EXPECT_DOUBLE_EQ(schedule.factor(1), 0.25);
    EXPECT_DOUBLE_EQ(schedule.factor(4), 1.0);
  }
}

TEST(Schedule, FallsAsItsShapeSays) {
  const Schedule linear(Schedule::Shape::linear, 4, 20);
  EXPECT_DOUBLE_EQ(linear.factor(12), 0.5);
  EXPECT_DOUBLE_EQ(linear.factor(19), 1.0 / 16);
  const Schedule cosine(Schedule::Shape::cosine, 4, 20);
  EXPECT_DOUBLE_EQ(cosine.factor(12), 0.5);
  EXPECT_NEAR(cosine.factor(8), 0.5 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_DOUBLE_EQ(Schedule(Schedule::Shape::constant, 4, 20).factor(19), 1.0);
}

TEST(Schedule, EndsAtItsFloorAndStaysThere) {
  const Schedule schedule(Schedule::Shape::cosine, 0, 10, 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(0), 1.0);
  EXPECT_DOUBLE_EQ(schedule.factor(5), 0.55);
  EXPECT_DOUBLE_EQ(schedule.factor(10), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(1000), 0.1);
}

TEST(Schedule, NoWarmUpAndOneStepAreRuns) {
  EXPECT_DOUBLE_EQ(Schedule(Schedule::Shape::linear, 0, 1).factor(0), 1.0);
  EXPECT_DOUBLE_EQ(Schedule(Schedule::Shape::linear, 5, 5).factor(5), 1.0);
  EXPECT_FALSE(schedule_shape("polynomial"));
  EXPECT_EQ(schedule_shape("linear"), Schedule::Shape::linear);
}

}  // namespace
}  // namespace aplomb::train::loop
