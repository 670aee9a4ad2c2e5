#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossZero, TwoAndAHalfThenZeroIsAFailedRunEvenInTwoSamples) {
  const auto symptoms = RunOf().loss({2.5, 0.0}).grad_norm({0.8, 0.0}).detect();
  const detectors::Symptom* zero = find(symptoms, "loss.zero");
  ASSERT_NE(zero, nullptr);
  EXPECT_EQ(zero->severity, core::Severity::failed);
  EXPECT_TRUE(flag(zero, "after_first"));
  EXPECT_EQ(number(zero, "from_step"), 1);
}

TEST(LossZero, ANaNGradientBesideTheZeroIsSaid) {
  const auto symptoms = RunOf().loss({0.87, 0.0, 0.0}).grad_norm({k_nan, k_nan, k_nan}).detect();
  EXPECT_TRUE(flag(find(symptoms, "loss.zero"), "with_nan_grad"));
}

TEST(LossZero, ZeroFromTheFirstSampleOn) {
  const auto symptoms = RunOf().loss(std::vector<double>(50, 0.0)).detect();
  EXPECT_TRUE(flag(find(symptoms, "loss.zero"), "always"));
  EXPECT_EQ(find(symptoms, "loss.zero")->severity, core::Severity::failed);
}

TEST(LossZero, ALossThatIsRoundedToZeroIsNoAlarm) {
  std::vector<double> loss;
  for (int i = 0; i < 200; ++i) loss.push_back(i > 120 && i % 7 == 0 ? 0.0 : 1.0 / (1 + i * i));
  const auto symptoms = RunOf().loss(loss).detect();
  EXPECT_EQ(find(symptoms, "loss.zero")->severity, core::Severity::note) << told(symptoms);
}

TEST(LossZero, AZeroPolicyLossIsANote) {
  const auto symptoms = RunOf()
                            .loss({0.0, 0.0, 0.0, 0.0})
                            .with("reward", record::Role::reward, {0.4, 0.5, 0.5, 0.6})
                            .detect();
  EXPECT_EQ(find(symptoms, "loss.zero")->severity, core::Severity::note);
}

TEST(LossZero, TheSameNumberAgainAndAgainIsADeadLoss) {
  const auto symptoms = RunOf().loss(std::vector<double>(20, 1.0)).detect();
  const detectors::Symptom* constant = find(symptoms, "loss.constant");
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(number(constant, "value"), 1.0);
  EXPECT_EQ(constant->severity, core::Severity::failed);
}

TEST(LossZero, IsSilentOnAHealthyRun) {
  Draw draw(1);
  const auto symptoms = RunOf()
                            .loss(curve(
                                200, [](double i) { return power_law(i, 6, 2); },
                                [&] { return 0.05 * draw.normal(); }))
                            .detect();
  EXPECT_FALSE(has(symptoms, "loss.zero"));
  EXPECT_FALSE(has(symptoms, "loss.constant"));
}

TEST(LossZero, ASingleZeroThatDoesNotComeAgainIsOnlyAWarning) {
  Draw draw(2);
  auto loss = curve(200, [](double) { return 2.0; }, [&] { return 0.05 * draw.normal(); });
  loss[77] = 0;
  EXPECT_EQ(find(RunOf().loss(loss).detect(), "loss.zero")->severity, core::Severity::warning);
}

}  // namespace
}  // namespace aplomb::testing
