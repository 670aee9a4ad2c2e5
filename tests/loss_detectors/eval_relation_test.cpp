#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

RunOf run_with(const std::vector<double>& losses, const std::vector<double>& evals) {
  RunOf run;
  run.loss(losses, 10);
  const std::int64_t every =
      static_cast<std::int64_t>(10 * losses.size() / std::max<std::size_t>(evals.size(), 1));
  std::int64_t step = every - 1;
  for (const double eval : evals) {
    run.at("eval_loss", record::Role::eval_loss, step, eval);
    step += every;
  }
  return run;
}

TEST(TrainAgainstEval, AConstantFactorIsASumWhereAMeanWasMeant) {
  Draw draw(6);
  const auto losses = curve(60, [](double) { return 120.0; }, [&] { return 6 * draw.normal(); });
  auto run = run_with(losses, {1.94, 2.03, 1.84, 1.87, 1.86, 1.83});
  run.set("batch.micro", 64.0);
  const auto symptoms = run.detect();
  const detectors::Symptom* scaled = find(symptoms, "loss.scaled");
  ASSERT_NE(scaled, nullptr) << told(symptoms);
  EXPECT_NEAR(number(scaled, "factor"), 64, 3);
  EXPECT_TRUE(flag(scaled, "is_batch"));
  EXPECT_TRUE(flag(scaled, "is_power_of_two"));
}

TEST(TrainAgainstEval, DropoutOrAnOverfittedRunIsNoFactor) {
  const auto falls = curve(60, [](double i) { return 2.3 - 0.03 * i; }, [] { return 0.0; });
  EXPECT_FALSE(has(run_with(falls, {1.5, 1.2, 0.9, 0.5}).detect(), "loss.scaled"));
  EXPECT_FALSE(has(run_with(falls, {2.2, 2.3, 2.5, 2.9}).detect(), "loss.scaled"));
  // A factor that grows with the run: the training loss falls slower, that is all.
  EXPECT_FALSE(
      has(run_with(std::vector<double>(60, 2.0), {1.0, 0.5, 0.25, 0.1}).detect(), "loss.scaled"));
}

TEST(TrainAgainstEval, HeldOutLossesThatAreTheSameToTheDigit) {
  const auto falls = curve(60, [](double i) { return 2.3 - 0.001 * i; }, [] { return 0.0; });
  const auto symptoms =
      run_with(falls, {0.8525, 0.8452, 0.8448, 0.8448, 0.8448, 0.8448, 0.8448}).detect();
  const detectors::Symptom* frozen = find(symptoms, "eval.frozen");
  ASSERT_NE(frozen, nullptr) << told(symptoms);
  EXPECT_FALSE(flag(frozen, "from_start"));
  EXPECT_EQ(number(frozen, "count"), 5);
}

TEST(TrainAgainstEval, AFewEqualNumbersOfTwoDigitsAreChance) {
  const auto falls = curve(60, [](double i) { return 2.3 - 0.03 * i; }, [] { return 0.0; });
  EXPECT_FALSE(has(run_with(falls, {0.9, 0.6, 0.5, 0.5, 0.5, 0.5}).detect(), "eval.frozen"));
  EXPECT_FALSE(
      has(run_with(falls, {0.98, 0.712, 0.6143, 0.5521, 0.5411, 0.5411}).detect(), "eval.frozen"));
}

TEST(TrainAgainstEval, OneAnswerToEverythingHasOneAccuracy) {
  const auto flat = std::vector<double>(60, 1.8);
  auto run = run_with(flat, {1.94, 2.03, 1.84, 1.87});
  for (int i = 1; i <= 5; ++i)
    run.at("eval_accuracy", record::Role::eval_accuracy, 120 * i - 2, i == 2 ? 0.164 : 0.176);
  EXPECT_TRUE(has(run.detect(), "eval.same_accuracy"));
  auto converged = run_with(flat, {1.94, 1.03, 0.84, 0.87});
  for (int i = 1; i <= 6; ++i)
    converged.at("eval_accuracy", record::Role::eval_accuracy, 100 * i - 2,
                 i <= 2 ? 0.6 + 0.1 * i : 0.9875);
  EXPECT_FALSE(has(converged.detect(), "eval.same_accuracy"));
}

TEST(TrainAgainstEval, AClassThatIsNeverAnswered) {
  const auto with = [](const std::vector<double>& f1) {
    return RunOf()
        .loss({0.5, 0.3, 0.22, 0.2, 0.19})
        .with("val_acc", record::Role::eval_accuracy, {0.95, 0.95, 0.951, 0.95})
        .with("val_f1", record::Role::other, f1)
        .detect();
  };
  EXPECT_TRUE(has(with({0, 0, 0, 0}), "eval.class_missed"));
  EXPECT_FALSE(has(with({0, 0, 0.1, 0.3}), "eval.class_missed"));
  EXPECT_TRUE(has(with({0.07, 0.08, 0.07, 0.09}), "eval.hardly_met"));
  EXPECT_FALSE(has(with({0.07, 0.08, 0.3, 0.5}), "eval.hardly_met"));
}

TEST(TrainAgainstEval, AScoreThatFallsOnOtherData) {
  RunOf run;
  run.loss({0.5, 0.3, 0.1, 0.01}, 10);
  run.with("valid_auc", record::Role::other, {0.81, 0.93, 0.99, 1.0}, 10);
  run.at("auc", record::Role::other, 60, 0.6419);
  const auto symptoms = run.detect();
  EXPECT_NEAR(number(find(symptoms, "eval.elsewhere_worse"), "elsewhere"), 0.6419, 1e-9)
      << told(symptoms);
}

TEST(TrainAgainstEval, AScoreThatHeldOutDataHaveNothingOf) {
  const auto with = [](const std::vector<double>& held_out) {
    RunOf run;
    run.loss({0.64, 0.3, 0.1, 0.07}, 10);
    run.with("train_dice", record::Role::other, {0.55, 0.9, 0.97, 0.99}, 10);
    run.with("val_dice", record::Role::other, held_out, 10);
    return run.detect();
  };
  EXPECT_DOUBLE_EQ(number(find(with({0.29, 0.2, 0.01, 0.009}), "eval.score_nothing"), "training"),
                   0.99);
  EXPECT_FALSE(has(with({0.29, 0.6, 0.7, 0.72}), "eval.score_nothing")) << "a gap, as usual";
}

}  // namespace
}  // namespace aplomb::testing
