#include "detection/bank.h"
#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

std::vector<double> falling(std::size_t n, std::uint64_t seed = 1) {
  Draw draw(seed);
  return curve(
      n, [](double i) { return power_law(i, 6, 2); }, [&] { return 0.03 * draw.normal(); });
}

TEST(Nonfinite, TellsTheFirstNaNWithTheValueBeforeIt) {
  std::vector<double> loss = falling(100);
  for (std::size_t i = 60; i < 100; ++i) loss[i] = k_nan;
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* found = find(symptoms, "loss.nonfinite");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::failed);
  EXPECT_EQ(number(found, "step"), 60);
  EXPECT_EQ(number(found, "index"), 60);
  EXPECT_EQ(word(found, "kind"), "nan");
  EXPECT_DOUBLE_EQ(number(found, "before"), loss[59]);
  EXPECT_DOUBLE_EQ(number(found, "share"), 0.4);
  EXPECT_FALSE(flag(found, "recovers"));
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "onset"), "early");
}

TEST(Nonfinite, ASmallFirstGradientIsNoRiseBeforeALaterNaN) {
  std::vector<double> loss = {4.84, 4.53, 3.78, 3.44, 3.14, 2.96, 2.96, 2.96, k_nan, k_nan};
  std::vector<double> norm = {0.109, 2.08, 1.66, 1.93, 1.74, 3.21, 2.43, 3.14, k_nan, k_nan};
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  EXPECT_FALSE(flag(find(symptoms, "nonfinite.onset"), "grad_rise_before")) << told(symptoms);
  norm = {1.9, 2.08, 1.66, 1.93, 1.74, 3.21, 12.4, 63.1, k_nan, k_nan};
  EXPECT_TRUE(flag(find(RunOf().loss(loss).grad_norm(norm).detect(), "nonfinite.onset"),
                   "grad_rise_before"));
}

TEST(Nonfinite, AFirstSampleThatIsNaNIsImmediate) {
  const auto symptoms = RunOf().loss({k_nan, k_nan}).grad_norm({k_nan, k_nan}).detect();
  EXPECT_TRUE(flag(find(symptoms, "loss.nonfinite"), "first_sample"));
  EXPECT_EQ(find(symptoms, "loss.nonfinite")->severity, core::Severity::failed);
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "onset"), "immediate");
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "first"), "both");
}

TEST(Nonfinite, ALogThatBeginsLateAndInNaNSaysThatTheOnsetIsNotInIt) {
  const auto symptoms = RunOf().loss({k_nan, k_nan, k_nan}, 100, 58000).detect();
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "onset"), "before-log");
}

TEST(Nonfinite, AGradientNormThatGoesFirstPointsToTheBackwardPass) {
  const auto symptoms =
      RunOf().loss({0.87, 0.88, 0.86, k_nan}).grad_norm({k_nan, k_nan, k_nan, k_nan}).detect();
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "first"), "grad_norm");
  EXPECT_EQ(find(symptoms, "grad_norm.nonfinite")->severity, core::Severity::failed);
}

TEST(Nonfinite, SeesTheGradientNormRiseBeforeTheNaN) {
  std::vector<double> loss = falling(200);
  Draw draw(3);
  std::vector<double> norm =
      curve(200, [](double) { return 0.5; }, [&] { return 0.04 * draw.normal(); });
  for (std::size_t i = 150; i < 155; ++i)
    norm[i] = 0.5 * std::pow(3.0, static_cast<double>(i) - 149);
  for (std::size_t i = 155; i < 200; ++i) loss[i] = norm[i] = k_nan;
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  const detectors::Symptom* onset = find(symptoms, "nonfinite.onset");
  EXPECT_TRUE(flag(onset, "grad_rise_before")) << told(symptoms);
  EXPECT_EQ(number(onset, "lead_steps"), 5);
  EXPECT_GT(number(onset, "rise_ratio"), 50);
  EXPECT_EQ(word(onset, "first"), "both");
}

TEST(Nonfinite, AFlatGradientNormBeforeTheNaNIsSaidToBeFlat) {
  std::vector<double> loss = falling(200);
  Draw draw(4);
  std::vector<double> norm =
      curve(200, [](double) { return 0.5; }, [&] { return 0.04 * draw.normal(); });
  for (std::size_t i = 155; i < 200; ++i) loss[i] = norm[i] = k_nan;
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  EXPECT_FALSE(flag(find(symptoms, "nonfinite.onset"), "grad_rise_before")) << told(symptoms);
  EXPECT_FALSE(flag(find(symptoms, "nonfinite.onset"), "loss_rise_before")) << told(symptoms);
}

TEST(Nonfinite, ASlowClimbOfTheLossBeforeTheNaNIsSeen) {
  Draw draw(5);
  std::vector<double> loss = curve(
      300, [](double i) { return i < 100 ? 3.0 : 3.0 + (i - 100) * 0.03; },
      [&] { return 0.05 * draw.normal(); });
  for (std::size_t i = 260; i < 300; ++i) loss[i] = k_inf;
  const auto symptoms = RunOf().loss(loss).detect();
  EXPECT_TRUE(flag(find(symptoms, "nonfinite.onset"), "loss_rise_before")) << told(symptoms);
  EXPECT_EQ(word(find(symptoms, "loss.nonfinite"), "kind"), "inf");
}

TEST(Nonfinite, NamesTheOnlyComponentThatIsNaN) {
  const auto symptoms = RunOf()
                            .loss({2.0, k_nan})
                            .with("loss/cls", record::Role::loss_component, {1.0, k_nan})
                            .with("loss/box", record::Role::loss_component, {1.0, 0.9})
                            .detect();
  const detectors::Symptom* component = find(symptoms, "component.nonfinite");
  ASSERT_NE(component, nullptr);
  EXPECT_EQ(word(component, "name"), "loss/cls");
  EXPECT_TRUE(flag(component, "only"));
  EXPECT_EQ(word(find(symptoms, "nonfinite.onset"), "first"), "component");
}

TEST(Nonfinite, OneNaNThatIsFollowedByFiniteLossesIsAWarningManyAreNot) {
  std::vector<double> loss = falling(300);
  loss[100] = k_nan;
  EXPECT_EQ(find(RunOf().loss(loss).detect(), "loss.nonfinite")->severity, core::Severity::warning);
  EXPECT_TRUE(flag(find(RunOf().loss(loss).detect(), "loss.nonfinite"), "recovers"));
  for (std::size_t i = 100; i < 240; i += 2) loss[i] = k_nan;
  EXPECT_EQ(find(RunOf().loss(loss).detect(), "loss.nonfinite")->severity, core::Severity::failed);
}

TEST(Nonfinite, TheOverflowsOfDynamicLossScalingAreNoAlarm) {
  std::vector<double> norm(400, 0.8);
  norm[0] = norm[1] = k_inf;
  norm[250] = k_inf;
  const auto symptoms = RunOf().loss(falling(400)).grad_norm(norm).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.nonfinite")->severity, core::Severity::note);
}

TEST(Nonfinite, IsSilentOnAFiniteRun) {
  const auto symptoms =
      RunOf().loss(falling(300)).grad_norm(std::vector<double>(300, 0.5)).detect();
  for (const detectors::Symptom& symptom : symptoms)
    EXPECT_EQ(symptom.id.find("nonfinite"), std::string::npos) << symptom.id;
}

TEST(Nonfinite, IsToldLiveAtTheFirstBadSample) {
  detectors::RunContext context;
  context.series_names = {"loss"};
  detection::DetectorBank bank(context);
  for (int step = 0; step < 10; ++step) {
    const detectors::Reading reading{record::Role::loss, 0, step == 9 ? k_nan : 2.0, {}};
    EXPECT_FALSE(has(bank.so_far(), "loss.nonfinite"));
    bank.observe({step, 0, {&reading, 1}});
  }
  EXPECT_TRUE(has(bank.so_far(), "loss.nonfinite"));
}

}  // namespace
}  // namespace aplomb::testing
