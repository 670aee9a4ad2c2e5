#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(ImpossibleValue, AShareAboveOne) {
  const auto symptoms =
      RunOf()
          .with("eval_accuracy", record::Role::eval_accuracy, {0.42, 0.81, 0.97, 1.38, 1.44, 1.61})
          .detect();
  const detectors::Symptom* seen = find(symptoms, "value.impossible");
  ASSERT_NE(seen, nullptr) << told(symptoms);
  EXPECT_NEAR(number(seen, "value"), 1.61, 1e-9);
}

TEST(ImpossibleValue, PercentAndALateStartAreNone) {
  EXPECT_FALSE(
      has(RunOf().with("accuracy", record::Role::accuracy, {0.9, 12, 55, 80, 99.9, 100}).detect(),
          "value.impossible"));
  EXPECT_FALSE(
      has(RunOf().with("accuracy", record::Role::accuracy, {0.1, 1.2, 2.5, 8, 20, 33}).detect(),
          "value.impossible"));
}

TEST(ImpossibleValue, ALossWithoutABottom) {
  const auto symptoms = RunOf().loss({512, 40, -3e5, -2.1e9, -4e14, -2.5e23}).detect();
  const detectors::Symptom* seen = find(symptoms, "value.impossible");
  ASSERT_NE(seen, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(seen, "bottomless"));
  EXPECT_EQ(seen->severity, core::Severity::unstable);
}

TEST(ImpossibleValue, ACrossEntropyBelowZero) {
  const auto symptoms =
      RunOf().set("data.class_count", 3.0).loss({1.1, 0.2, -0.4, -1.2, -3.0}).detect();
  EXPECT_TRUE(has(symptoms, "value.impossible")) << told(symptoms);
  EXPECT_FALSE(has(RunOf().loss({-10, -12, -14, -15}).detect(), "value.impossible"));
}

TEST(ImpossibleValue, ADivergenceOfAnAutoencoderBelowZero) {
  RunOf run;
  run.with("recon", record::Role::loss, {90, 80, 70, 60, 55});
  run.with("kl", record::Role::kl, {-0.2, -1.4, -3, -5, -8});
  EXPECT_TRUE(has(run.detect(), "value.impossible"));
  RunOf policy;
  policy.with("kl", record::Role::kl, {-0.2, 0.1, -0.3, -0.1, -0.2});
  policy.with("reward", record::Role::reward, {0.1, 0.2, 0.3, 0.4, 0.5});
  EXPECT_FALSE(has(policy.detect(), "value.impossible"));
}

}  // namespace
}  // namespace aplomb::testing
