#include <gtest/gtest.h>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// 1000 training losses and an evaluation every 100 steps.
RunOf run_of(double train_last, const std::vector<double>& eval, std::uint64_t seed = 1) {
  Draw draw(seed);
  RunOf run;
  const auto loss = curve(
      1000, [&](double i) { return 2.5 + (train_last - 2.5) * i / 1000; },
      [&] { return 0.02 * draw.normal(); });
  for (std::size_t i = 0; i < loss.size(); ++i)
    run.at("loss", record::Role::loss, static_cast<std::int64_t>(i), loss[i]);
  for (std::size_t i = 0; i < eval.size(); ++i)
    run.at("eval_loss", record::Role::eval_loss, static_cast<std::int64_t>(100 * (i + 1)), eval[i]);
  return run;
}

TEST(Overfit, HeldOutLossThatRisesWhileTrainingFallsIsAWarning) {
  const auto symptoms = run_of(0.3, {2.3, 2.0, 1.9, 2.0, 2.2, 2.5}).detect();
  const detectors::Symptom* found = find(symptoms, "eval.overfit");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_EQ(number(found, "best_step"), 300);
  EXPECT_DOUBLE_EQ(number(found, "best"), 1.9);
  EXPECT_GT(number(found, "gap"), 1.5);
}

/// What is said of the run after each evaluation, while it goes on.
std::vector<std::vector<detectors::Symptom>> live(const std::vector<double>& train,
                                                  const std::vector<double>& eval) {
  detectors::RunContext context;
  context.series_names = {"loss", "eval_loss", "epoch"};
  detection::DetectorBank bank(context);
  std::vector<std::vector<detectors::Symptom>> said;
  for (std::size_t i = 0; i < eval.size(); ++i) {
    for (std::int64_t k = 0; k < 8; ++k) {
      const std::int64_t step = 10 * static_cast<std::int64_t>(i) + k;
      const detectors::Reading readings[] = {{record::Role::loss, 0, train[i], {}},
                                             {record::Role::epoch, 2, static_cast<double>(i), {}}};
      bank.observe({step, 0, readings});
    }
    const detectors::Reading held_out[] = {{record::Role::eval_loss, 1, eval[i], {}}};
    bank.observe({10 * static_cast<std::int64_t>(i) + 7, 0, held_out});
    said.push_back(bank.so_far());
  }
  return said;
}

TEST(Overfit, IsWarnedOfWhileItGoesOnAndTakenBackWhereTheLossComesDownAgain) {
  const auto said =
      live({2.5, 2.0, 1.7, 1.5, 1.3, 1.1, 1.0}, {2.4, 2.0, 2.03, 2.12, 2.4, 1.9, 1.8});
  for (const std::size_t silent : {0U, 1U, 2U, 5U, 6U})
    EXPECT_FALSE(has(said[silent], "eval.overfit")) << silent << told(said[silent]);
  for (const std::size_t warned : {3U, 4U}) {
    const detectors::Symptom* found = find(said[warned], "eval.overfit");
    ASSERT_NE(found, nullptr) << warned;
    EXPECT_EQ(found->severity, core::Severity::warning);
  }
}

TEST(Overfit, HeldOutTextKnownByHeartIsAWarningAndAFewClassesAreNot) {
  const std::vector<double> text{5.5, 2.0, 0.4, 0.1, 0.03, 0.02};
  EXPECT_EQ(find(live(text, text).back(), "train.too_perfect")->severity, core::Severity::warning);
  const std::vector<double> classes{2.3, 0.8, 0.2, 0.1, 0.03, 0.02};
  EXPECT_EQ(worst(live(classes, classes).back()), core::Severity::note);
  const std::vector<double> gap{5.4, 2.2, 1.9, 1.8, 1.8, 1.8};
  EXPECT_EQ(find(live(text, gap).back(), "train.too_perfect")->severity, core::Severity::note);
}

TEST(Overfit, HeldOutLossThatRisesWithTrainingIsDivergence) {
  const auto symptoms = run_of(3.4, {2.3, 2.0, 2.6, 3.0, 3.4}).detect();
  EXPECT_TRUE(has(symptoms, "eval.divergence")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "eval.overfit"));
}

TEST(Overfit, OneBadEvaluationIsNoOverfitting) {
  EXPECT_FALSE(has(run_of(1.0, {2.3, 2.0, 1.8, 2.6, 1.75, 1.7}).detect(), "eval.overfit"));
}

TEST(Overfit, HeldOutLossBelowTrainingIsSaid) {
  const auto symptoms = run_of(1.5, {1.2, 1.1, 1.0, 0.9}).detect();
  const detectors::Symptom* found = find(symptoms, "eval.better_than_train");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::note);
  EXPECT_GT(number(found, "gap"), 0.5);
}

TEST(Overfit, TrainingLossThatGoesToNothingInManyEpochsIsSaid) {
  RunOf run;
  const std::vector<double> loss{6.48, 2.06, 0.63, 0.20};
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const auto step = static_cast<std::int64_t>(50 * (i + 1));
    run.at("loss", record::Role::loss, step, loss[i]);
    run.at("epoch", record::Role::epoch, step, 4.17 * static_cast<double>(i + 1));
  }
  const auto symptoms = run.detect();
  const detectors::Symptom* found = find(symptoms, "train.too_perfect");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_NEAR(number(found, "epoch"), 16.7, 0.1);
}

TEST(Overfit, WhatComesDownFromABlowUpIsNotKnownByHeart) {
  RunOf run;
  const std::vector<double> loss{2.3, 0.4, 0.2, 5e8, 4e30, 6e60, 3e40, 2e40, 1e40};
  for (std::size_t i = 0; i < loss.size(); ++i)
    run.at("loss", record::Role::loss, static_cast<std::int64_t>(i), loss[i]);
  const auto symptoms = run.detect();
  EXPECT_EQ(find(symptoms, "train.too_perfect"), nullptr) << told(symptoms);
}

TEST(Overfit, IsSilentWhereBothFallAndWhereEvaluationsAreNaN) {
  const auto healthy = run_of(1.0, {2.4, 2.25, 2.1, 1.95, 1.85, 1.75}).detect();
  const auto holes = run_of(1.0, {k_nan, 2.25, k_nan, 1.95, k_inf, 1.75}).detect();
  for (const char* id :
       {"eval.overfit", "eval.divergence", "eval.better_than_train", "train.too_perfect"}) {
    EXPECT_FALSE(has(healthy, id)) << id;
    EXPECT_FALSE(has(holes, id)) << id;
  }
}

}  // namespace
}  // namespace aplomb::testing
