#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

std::vector<double> noisy(double level, double noise, std::uint64_t seed, std::size_t count = 25) {
  Draw draw(seed);
  return curve(count, [&](double) { return level; }, [&] { return noise * draw.normal(); });
}

TEST(Preference, PairsThatAreOrderedAsByTossingCoins) {
  RunOf run;
  run.loss(noisy(0.695, 0.008, 18), 5);
  run.with("rewards/accuracies", record::Role::other, noisy(0.49, 0.08, 19), 5);
  run.at("eval_rewards/accuracies", record::Role::other, 60, 0.7);
  const auto symptoms = run.detect();
  const detectors::Symptom* random = find(symptoms, "preference.random");
  ASSERT_NE(random, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(random, "eval_tells"));
}

TEST(Preference, PairsThatAreLearntAreNone) {
  RunOf run;
  run.loss(curve(25, [](double i) { return 0.69 - 0.01 * i; }, [] { return 0.0; }), 5);
  run.with(
      "rewards/accuracies", record::Role::other,
      curve(25, [](double i) { return std::min(0.95, 0.5 + 0.03 * i); }, [] { return 0.0; }), 5);
  run.with("logps/chosen", record::Role::other, noisy(-140, 8, 20), 5);
  run.with("logps/rejected", record::Role::other, noisy(-128, 8, 21), 5);
  const auto symptoms = run.detect();
  EXPECT_FALSE(has(symptoms, "preference.random"));
  EXPECT_FALSE(has(symptoms, "preference.swapped")) << told(symptoms);
}

TEST(Preference, ChosenAnswersThatTheModelFindsAbsurdAreTheRejectedOnes) {
  RunOf run;
  run.loss(curve(15, [](double i) { return 0.69 - 0.005 * i; }, [] { return 0.0; }));
  run.with("logps/chosen", record::Role::other, noisy(-5.1, 0.2, 22, 15));
  run.with("logps/rejected", record::Role::other, noisy(-0.95, 0.1, 23, 15));
  run.with("rewards/accuracies", record::Role::other,
           curve(15, [](double i) { return std::min(0.95, 0.5 + 0.03 * i); }, [] { return 0.0; }));
  const auto symptoms = run.detect();
  EXPECT_TRUE(flag(find(symptoms, "preference.swapped"), "starts_reversed")) << told(symptoms);
}

TEST(Preference, APolicyThatIsItsOwnReferenceDoesNotMove) {
  RunOf run;
  run.loss(std::vector<double>(20, 0.6931));
  run.with("rewards/margins", record::Role::other, std::vector<double>(20, 0.0));
  run.with("rewards/accuracies", record::Role::other, std::vector<double>(20, 0.0));
  const auto symptoms = run.detect();
  EXPECT_TRUE(has(symptoms, "preference.still")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "preference.random"));
}

TEST(Preference, AnswersThatAreOneTextOnceProcessed) {
  const auto with = [](double apart) {
    RunOf run;
    run.loss(std::vector<double>(20, 0.6931));
    run.with("rewards/margins", record::Role::other, std::vector<double>(20, 0.0));
    std::vector<double> chosen = noisy(-0.6, 0.1, 25, 20);
    std::vector<double> rejected = chosen;
    for (double& each : rejected) each += apart;
    run.with("logps/chosen", record::Role::other, chosen);
    run.with("logps/rejected", record::Role::other, rejected);
    return run.detect();
  };
  EXPECT_TRUE(flag(find(with(0), "preference.still"), "identical"));
  EXPECT_FALSE(flag(find(with(0.2), "preference.still"), "identical"));
}

TEST(Preference, OtherRunsHaveNoPairs) {
  EXPECT_FALSE(has(RunOf().loss(noisy(0.693, 0.002, 24, 60)).detect(), "preference.random"));
}

}  // namespace
}  // namespace aplomb::testing
