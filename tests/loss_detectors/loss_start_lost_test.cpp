#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(StartLost, AFirstLossThatIsNeverReachedAgain) {
  const auto symptoms =
      RunOf().loss({1.93, 11.4, 9.8, 9.1, 8.6, 8.2, 8.0, 7.8, 7.7, 7.6, 7.5, 7.4}, 10).detect();
  const detectors::Symptom* lost = find(symptoms, "loss.start_lost");
  ASSERT_NE(lost, nullptr) << told(symptoms);
  EXPECT_NEAR(number(lost, "first"), 1.93, 1e-9);
  EXPECT_NEAR(number(lost, "best_later"), 7.4, 1e-9);
}

TEST(StartLost, IsSilentOnHealthyRunsAndLuckyFirstBatches) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draw draw(seed);
    const auto losses = curve(
        50, [](double i) { return power_law(i, 2.5, 1.5); }, [&] { return 0.2 * draw.student3(); });
    EXPECT_FALSE(has(RunOf().loss(losses).detect(), "loss.start_lost")) << seed;
  }
  EXPECT_FALSE(has(RunOf().loss({1.0, 2.0, 1.9, 1.8, 1.7, 1.5, 1.4, 1.2, 1.1, 0.9, 0.8}).detect(),
                   "loss.start_lost"));
}

TEST(StartLost, TheEvaluationBeforeTrainingStaysTheBest) {
  RunOf run;
  run.at("eval_loss", record::Role::eval_loss, 0, 2.1);
  run.loss({2.0, 2.2, 2.3, 2.2, 2.3, 2.2}, 10, 1);
  run.at("eval_loss", record::Role::eval_loss, 21, 2.4);
  run.at("eval_loss", record::Role::eval_loss, 41, 2.3);
  EXPECT_TRUE(has(run.detect(), "eval.best_before_training"));
}

TEST(StartLost, EvaluationsThatImproveOrCameAfterTrainingAreNone) {
  RunOf better;
  better.at("eval_loss", record::Role::eval_loss, 0, 2.1);
  better.loss({2.0, 1.9, 1.8}, 10, 1);
  better.at("eval_loss", record::Role::eval_loss, 11, 2.2);
  better.at("eval_loss", record::Role::eval_loss, 21, 1.9);
  EXPECT_FALSE(has(better.detect(), "eval.best_before_training"));
  RunOf later;
  later.loss({2.0, 1.5, 1.0, 0.8}, 10, 1);
  for (int i = 1; i <= 3; ++i)
    later.at("eval_loss", record::Role::eval_loss, 10 * i, 1.0 + 0.1 * i);
  EXPECT_FALSE(has(later.detect(), "eval.best_before_training"));
}

TEST(StartLost, APolicysLossMayRise) {
  EXPECT_FALSE(has(RunOf()
                       .loss({0.1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
                       .with("reward", record::Role::reward, {0.1, 0.2, 0.3})
                       .detect(),
                   "loss.start_lost"));
}

}  // namespace
}  // namespace aplomb::testing
