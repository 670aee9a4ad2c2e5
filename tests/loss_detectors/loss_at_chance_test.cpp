#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

std::vector<double> around(double level, double noise, std::size_t count, std::uint64_t seed) {
  Draw draw(seed);
  return curve(count, [&](double) { return level; }, [&] { return noise * draw.normal(); });
}

TEST(Chance, ALossThatStaysAtLnClassesIsAGuess) {
  const auto symptoms =
      RunOf().set("data.class_count", 8.0).loss(around(2.08, 0.02, 80, 1), 10).detect();
  const detectors::Symptom* chance = find(symptoms, "loss.at_chance");
  ASSERT_NE(chance, nullptr) << told(symptoms);
  EXPECT_EQ(chance->severity, core::Severity::warning);
  EXPECT_EQ(number(chance, "classes"), 8);
  EXPECT_FALSE(flag(chance, "above"));
}

TEST(Chance, TheClassesAreToldByFirstLossesAndAHumpIsForgotten) {
  std::vector<double> losses = {1.7925, 1.7962, 1.7906, 5.15, 3.53, 3.9};
  for (const double each : around(1.80, 0.09, 87, 2)) losses.push_back(each);
  const auto symptoms = RunOf().loss(losses, 3).detect();
  const detectors::Symptom* chance = find(symptoms, "loss.at_chance");
  ASSERT_NE(chance, nullptr) << told(symptoms);
  EXPECT_EQ(number(chance, "classes"), 6);
}

TEST(Chance, HeldOutLossesAtAGuessWhileTheTrainingLossFalls) {
  RunOf run;
  run.set("data.class_count", 8.0)
      .loss(curve(30, [](double i) { return 2.09 - 0.005 * i; }, [] { return 0.0; }), 10);
  for (int i = 1; i <= 3; ++i) {
    run.at("eval_loss", record::Role::eval_loss, 100 * i - 1, 2.08 + 0.01 * i);
    run.at("eval_accuracy", record::Role::eval_accuracy, 100 * i - 1, 0.11 + 0.01 * i);
  }
  const auto symptoms = run.detect();
  const detectors::Symptom* chance = find(symptoms, "eval.at_chance");
  ASSERT_NE(chance, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(chance, "train_falls"));
  EXPECT_FALSE(flag(chance, "train_above"));
  EXPECT_FALSE(has(symptoms, "loss.at_chance"));
}

TEST(Chance, TrainingLossesAboveAGuessBesideHeldOutOnesThatAreItAreNoisyByThemselves) {
  RunOf run;
  run.set("data.class_count", 8.0).loss(around(2.092, 0.01, 40, 3), 10);
  for (int i = 1; i <= 4; ++i)
    run.at("eval_loss", record::Role::eval_loss, 100 * i - 1, 2.0795 + 0.0002 * i);
  const auto symptoms = run.detect();
  const detectors::Symptom* chance = find(symptoms, "eval.at_chance");
  ASSERT_NE(chance, nullptr);
  EXPECT_TRUE(flag(chance, "train_above"));
  EXPECT_TRUE(flag(chance, "exact"));
}

TEST(Chance, WhatWasLearntAndIsLostIsToldSo) {
  const auto symptoms =
      RunOf()
          .set("data.class_count", 10.0)
          .loss(curve(
              100, [](double i) { return i < 60 ? 2.3 * std::exp(-i / 30) : 2.303; },
              [] { return 0.0; }))
          .detect();
  EXPECT_TRUE(has(symptoms, "loss.back_at_chance")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "loss.at_chance"));
}

TEST(Chance, IsSilentWhereARunLearns) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Draw draw(seed);
    const auto losses = curve(
        60, [](double i) { return power_law(i, 2.3, 0.3); }, [&] { return 0.05 * draw.normal(); });
    const auto symptoms = RunOf().set("data.class_count", 10.0).loss(losses, 10).detect();
    EXPECT_FALSE(has(symptoms, "loss.at_chance")) << seed;
    EXPECT_FALSE(has(symptoms, "loss.back_at_chance")) << seed;
    EXPECT_FALSE(has(symptoms, "eval.at_chance")) << seed;
  }
}

TEST(Chance, ALossThatHasJustBegunToFallIsNotLost) {
  const auto symptoms =
      RunOf()
          .set("model.vocab_size", 32000.0)
          .set("train.method", std::string("pretrain"))
          .loss(curve(
                    25, [](double i) { return i < 14 ? 10.8 - 0.04 * i : 10.3 - 0.13 * (i - 14); },
                    [] { return 0.0; }),
                2)
          .detect();
  EXPECT_FALSE(has(symptoms, "loss.back_at_chance")) << told(symptoms);
}

TEST(Chance, IsSilentWithoutANumberOfClassesAndBesideNan) {
  EXPECT_FALSE(has(RunOf().loss(around(0.77, 0.02, 80, 4)).detect(), "loss.at_chance"));
  EXPECT_FALSE(has(RunOf().set("data.class_count", 8.0).loss({k_nan, k_nan, 2.08}).detect(),
                   "loss.at_chance"));
}

}  // namespace
}  // namespace aplomb::testing
