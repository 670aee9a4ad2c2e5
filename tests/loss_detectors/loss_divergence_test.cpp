#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(Divergence, ALossThatEndsFarAboveItsBestHasFailed) {
  Draw draw(1);
  const auto loss = curve(
      1000, [](double i) { return i < 500 ? power_law(i, 8, 2) : 2.5 + (i - 500) * 0.02; },
      [&] { return 0.1 * draw.normal(); });
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* found = find(symptoms, "loss.divergence");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::failed);
  EXPECT_TRUE(flag(found, "slow"));
  EXPECT_NEAR(number(found, "best_step"), 490, 60);
  EXPECT_TRUE(flag(found, "to_start_level"));
}

TEST(Divergence, AJumpThatStaysIsSudden) {
  Draw draw(2);
  const auto loss = curve(
      800, [](double i) { return i < 400 ? 2.0 : 10.3; }, [&] { return 0.05 * draw.normal(); });
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* found = find(symptoms, "loss.divergence");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(found, "sudden"));
  EXPECT_NEAR(number(found, "step"), 400, 20);
  EXPECT_NEAR(number(found, "ratio"), 5.15, 0.3);
}

TEST(Divergence, EightRecordsThatFallAndRiseAgainSuffice) {
  const auto symptoms = RunOf().loss({15.5, 13.0, 3.8, 2.39, 1.43, 5.82, 7.05, 10.03}, 55).detect();
  EXPECT_EQ(worst(symptoms), core::Severity::failed) << told(symptoms);
  EXPECT_TRUE(has(symptoms, "loss.divergence"));
}

TEST(Divergence, AStepToAnotherMixtureOfDataIsANote) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    const double up = draw.uniform(-0.6, 0.9);
    const auto loss = curve(
        2000, [&](double i) { return power_law(i, 8, 2) + (i > 1200 ? up : 0); },
        [&] { return 0.05 * draw.normal(); });
    const auto symptoms = RunOf().loss(loss).detect();
    EXPECT_LT(worst(symptoms), core::Severity::warning)
        << "seed " << seed << " shift " << up << "\n"
        << told(symptoms);
  }
}

TEST(Divergence, ASpikeThatComesBackIsNone) {
  Draw draw(4);
  auto loss = curve(1000, [](double) { return 2.0; }, [&] { return 0.05 * draw.normal(); });
  for (std::size_t i = 500; i < 540; ++i) loss[i] = 9 - 0.17 * static_cast<double>(i - 500);
  EXPECT_FALSE(has(RunOf().loss(loss).detect(), "loss.divergence"));
}

TEST(Divergence, ASingleRecordOfBillionsIsAnExplodedLoss) {
  const auto symptoms = RunOf().loss({2461733416.9}).detect();
  EXPECT_EQ(find(symptoms, "loss.huge")->severity, core::Severity::failed);
  EXPECT_TRUE(flag(find(symptoms, "loss.huge"), "first_sample"));
}

TEST(Divergence, SaysNothingOfAPolicyLoss) {
  Draw draw(5);
  const auto loss =
      curve(400, [](double i) { return 0.001 * i; }, [&] { return 0.02 * draw.normal(); });
  const auto symptoms = RunOf()
                            .loss(loss)
                            .with("reward", record::Role::reward, std::vector<double>(400, 0.5))
                            .detect();
  EXPECT_FALSE(has(symptoms, "loss.divergence"));
}

TEST(Divergence, NaNAndInfInBetweenChangeNothing) {
  Draw draw(6);
  auto loss =
      curve(1000, [](double i) { return 2.0 + i * 0.006; }, [&] { return 0.1 * draw.normal(); });
  const auto plain = RunOf().loss(loss).detect();
  for (std::size_t i = 0; i < 1000; i += 97) loss[i] = i % 2 == 0 ? k_nan : k_inf;
  const auto holed = RunOf().loss(loss).detect();
  EXPECT_TRUE(has(plain, "loss.divergence"));
  EXPECT_TRUE(has(holed, "loss.divergence"));
}

TEST(Divergence, ALossThatIsHugeFromTheStartAndNeverRisesIsAScale) {
  const auto symptoms = RunOf().loss({1.05e11, 1.04e11, 9.3e10, 9.8e10, 9.6e10}).detect();
  EXPECT_FALSE(has(symptoms, "loss.huge"));
  const detectors::Symptom* scale = find(symptoms, "loss.large_scale");
  ASSERT_NE(scale, nullptr) << told(symptoms);
  EXPECT_NEAR(number(scale, "root"), 3.24e5, 1e3);
  EXPECT_EQ(scale->severity, core::Severity::warning);
}

}  // namespace
}  // namespace aplomb::testing
