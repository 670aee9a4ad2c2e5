#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<detectors::Symptom> of(const std::vector<double>& scale) {
  return RunOf().with("loss_scale", record::Role::loss_scale, scale).detect();
}

TEST(LossScale, AFewHalvingsAtTheStartAreCalibration) {
  std::vector<double> scale(500, 8192);
  scale[0] = 65536;
  scale[1] = 32768;
  scale[2] = 16384;
  const auto symptoms = of(scale);
  EXPECT_EQ(find(symptoms, "loss_scale.calibration")->severity, core::Severity::note);
  EXPECT_EQ(worst(symptoms), core::Severity::note);
}

TEST(LossScale, HalvingAgainAndAgainIsPersistentSkipping) {
  std::vector<double> scale;
  for (int i = 0; i < 300; ++i) scale.push_back(i % 10 < 5 ? 4096 : 2048);
  EXPECT_EQ(find(of(scale), "loss_scale.persistent_skipping")->severity, core::Severity::unstable);
}

TEST(LossScale, AScaleThatFallsToOneHasCollapsed) {
  std::vector<double> scale;
  for (int i = 0; i < 40; ++i) scale.push_back(std::max(1.0, std::ldexp(1.0, 16 - i)));
  const auto symptoms = of(scale);
  EXPECT_EQ(find(symptoms, "loss_scale.collapse")->severity, core::Severity::failed);
  EXPECT_EQ(number(find(symptoms, "loss_scale.collapse"), "last"), 1.0);
}

TEST(LossScale, HalvingsInARowBelowOneAreACollapseWhereverTheLogBegins) {
  std::vector<double> scale;
  for (int i = 2; i < 14; ++i) scale.push_back(std::ldexp(1.0, -i));
  EXPECT_EQ(find(of(scale), "loss_scale.collapse")->severity, core::Severity::failed);
  EXPECT_EQ(find(of({0.25, 0.125, 0.125, 0.125}), "loss_scale.collapse"), nullptr);
}

TEST(LossScale, AStaticScaleOfOneIsNoCollapse) {
  EXPECT_TRUE(of(std::vector<double>(50, 1.0)).empty());
}

TEST(LossScale, GrowthAfterTwoThousandStepsIsSilent) {
  std::vector<double> scale(3000, 8192);
  for (std::size_t i = 2000; i < 3000; ++i) scale[i] = 16384;
  EXPECT_TRUE(of(scale).empty());
}

TEST(LossScale, ARunningCountOfSkippedStepsIsRead) {
  std::vector<double> skipped;
  for (int i = 0; i < 200; ++i) skipped.push_back(0.5 * i);
  const std::vector<double> scale(200, 128);
  const auto symptoms = RunOf()
                            .with("skipped", record::Role::skipped_steps, skipped)
                            .with("loss_scale", record::Role::loss_scale, scale)
                            .detect();
  EXPECT_NEAR(number(find(symptoms, "loss_scale.persistent_skipping"), "share"), 0.4, 0.05);
}

TEST(LossScale, WithoutAScaleStepsAreLeftOutBySomethingElse) {
  std::vector<double> stray, more;
  for (int i = 0; i < 200; ++i) {
    stray.push_back(i / 10);
    more.push_back(i < 140 ? 0 : (i - 140) / 3);
  }
  const std::vector<double> one(200, 1);
  for (const auto& [skipped, rising] : {std::pair(stray, false), std::pair(more, true)}) {
    const auto symptoms = RunOf()
                              .with("skipped", record::Role::skipped_steps, skipped)
                              .with("loss_scale", record::Role::loss_scale, one)
                              .detect();
    const detectors::Symptom* symptom = find(symptoms, "steps.skipped");
    ASSERT_NE(symptom, nullptr);
    EXPECT_NEAR(number(symptom, "share"), 0.1, 0.01);
    EXPECT_EQ(core::is_true(symptom->measures.at("rising")), rising);
    EXPECT_EQ(find(symptoms, "loss_scale.persistent_skipping"), nullptr);
  }
}

TEST(LossScale, FewSkipsThatBecomeMoreAreSystematicAndEvenOnesAreNot) {
  std::vector<double> more, even;
  for (int i = 0; i < 1000; ++i) {
    more.push_back(i < 600 ? 0 : (i - 600) / 16);
    even.push_back(i / 40);
  }
  const auto symptoms = RunOf().with("skipped", record::Role::skipped_steps, more).detect();
  ASSERT_NE(find(symptoms, "steps.skipped"), nullptr);
  EXPECT_LT(number(find(symptoms, "steps.skipped"), "share"), 0.05);
  EXPECT_TRUE(RunOf().with("skipped", record::Role::skipped_steps, even).detect().empty());
}

TEST(LossScale, CountsOfEachIntervalAreAddedUp) {
  std::vector<double> counts(400, 0);
  for (std::size_t i = 250; i < 400; ++i) counts[i] = 1;
  const auto symptoms =
      RunOf().with("skipped_in_interval", record::Role::skipped_steps, counts).detect();
  ASSERT_NE(find(symptoms, "steps.skipped"), nullptr);
  EXPECT_EQ(number(find(symptoms, "steps.skipped"), "count"), 150);
}

TEST(LossScale, NonFiniteScalesAreLeftOut) {
  std::vector<double> scale(100, 1024);
  scale[40] = k_nan;
  scale[60] = k_inf;
  EXPECT_TRUE(of(scale).empty());
}

}  // namespace
}  // namespace aplomb::testing
