#include "demo/tiny_training.h"

#include <gmock/gmock.h>

#include <cmath>

namespace aplomb::demo {
namespace {

using ::testing::HasSubstr;

TEST(TinyTraining, LearnsAtASoundRate) {
  const auto steps = train({});
  ASSERT_EQ(steps.size(), 600U);
  EXPECT_GT(steps.front().loss, 1) << "the variance of what is to be learned";
  EXPECT_LT(steps.back().eval_loss, 0.05) << "the noise in it is 0.01";
  EXPECT_EQ(steps[0].eval_loss, -1) << "not evaluated";
}

TEST(TinyTraining, DivergesAtARateThatItDoesNotStand) {
  TinyTraining how;
  how.learning_rate = 1;
  const auto steps = train(how);
  EXPECT_GT(steps[3].loss, 1000 * steps[0].loss) << "the loss grows first";
  EXPECT_FALSE(std::isfinite(steps.back().loss));
  EXPECT_THAT(log_of(how, steps), HasSubstr("| loss nan |")) << "without a sign";
}

TEST(TinyTraining, IsTheSameEachTimeAndAnotherWithAnotherSeed) {
  TinyTraining how;
  how.steps = 20;
  EXPECT_EQ(log_of(how, train(how)), log_of(how, train(how)));
  const std::string before = log_of(how, train(how));
  how.seed = 8;
  EXPECT_NE(log_of(how, train(how)), before);
}

TEST(TinyTraining, WritesWhatATrainerWould) {
  TinyTraining how;
  how.steps = 50;
  const std::string log = log_of(how, train(how));
  EXPECT_THAT(log, HasSubstr("step 1/50 | loss 2."));
  EXPECT_THAT(log, HasSubstr("step 50/50 | eval_loss "));
  EXPECT_THAT(config_of(how), HasSubstr("learning_rate: 0.05\n"));
}

}  // namespace
}  // namespace aplomb::demo
