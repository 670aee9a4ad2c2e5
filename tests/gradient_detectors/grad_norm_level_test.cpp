#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> falling(std::size_t n) {
  Draw draw(1);
  return curve(
      n, [](double i) { return power_law(i, 6, 2); }, [&] { return 0.03 * draw.normal(); });
}
std::vector<double> flat(std::size_t n) {
  Draw draw(2);
  return curve(n, [](double) { return 2.3; }, [&] { return 0.01 * draw.normal(); });
}
std::vector<double> norms(std::size_t n, double level, double spread, std::uint64_t seed = 3) {
  Draw draw(seed);
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(level * std::exp(spread * draw.normal()));
  return all;
}

TEST(GradNormLevel, ZeroWhileTheLossStandsStillIsADeadRun) {
  const auto symptoms = RunOf().loss(flat(30)).grad_norm(std::vector<double>(30, 0.0)).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.zero")->severity, core::Severity::failed) << told(symptoms);
  EXPECT_TRUE(flag(find(symptoms, "grad_norm.zero"), "always"));
}

TEST(GradNormLevel, AColumnOfZerosBesideAFallingLossIsAPlaceholder) {
  const auto symptoms =
      RunOf().loss(falling(200)).grad_norm(std::vector<double>(200, 0.0)).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.zero")->severity, core::Severity::note);
  EXPECT_TRUE(flag(find(symptoms, "grad_norm.zero"), "placeholder"));
}

TEST(GradNormLevel, AboveAHundredAndRisingIsUnstable) {
  std::vector<double> rising;
  for (int i = 0; i < 100; ++i) rising.push_back(20 * std::exp(0.05 * i));
  const auto symptoms = RunOf().loss(flat(100)).grad_norm(rising).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.high")->severity, core::Severity::unstable) << told(symptoms);
  EXPECT_TRUE(flag(find(symptoms, "grad_norm.high"), "rising"));
}

TEST(GradNormLevel, OneNormOfATrillionIsUnstableEvenAlone) {
  const auto symptoms = RunOf().grad_norm({1170372919273.0}).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.high")->severity, core::Severity::unstable);
}

TEST(GradNormLevel, FewHighNormsOfAHealthyRunAreANote) {
  auto norm = norms(300, 1.0, 0.2);
  norm[3] = 150;
  norm[200] = 120;
  const auto symptoms = RunOf().loss(falling(300)).grad_norm(norm).detect();
  EXPECT_EQ(find(symptoms, "grad_norm.high")->severity, core::Severity::note);
  EXPECT_LE(worst(symptoms), core::Severity::warning);
}

TEST(GradNormLevel, LargeSwingsWithoutLearningAreAWarning) {
  const auto symptoms = RunOf().loss(flat(100)).grad_norm(norms(100, 15, 1.2)).detect();
  const detectors::Symptom* found = find(symptoms, "grad_norm.oscillating");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_GT(number(found, "ratio"), 2);
}

TEST(GradNormLevel, VanishingIsToldWithItsLevel) {
  std::vector<double> norm;
  for (int i = 0; i < 100; ++i) norm.push_back(std::exp(-0.25 * i));
  const auto symptoms = RunOf().loss(flat(100)).grad_norm(norm).detect();
  EXPECT_LT(number(find(symptoms, "grad_norm.vanishing"), "level"), 1e-6);
}

TEST(GradNormLevel, ASpikeStandsOutOfLogNormalNoise) {
  auto norm = norms(600, 0.5, 0.15);
  norm[400] = 30;
  const auto symptoms = RunOf().loss(falling(600)).grad_norm(norm).detect();
  EXPECT_EQ(number(find(symptoms, "grad_norm.spike"), "step"), 400) << told(symptoms);
}

TEST(GradNormLevel, IsSilentOnAHealthyRunWithNaNInBetween) {
  auto norm = norms(600, 0.5, 0.15, 9);
  norm[0] = k_inf;
  norm[300] = k_nan;
  const auto symptoms = RunOf().loss(falling(600)).grad_norm(norm).detect();
  for (const char* id : {"grad_norm.zero", "grad_norm.high", "grad_norm.oscillating",
                         "grad_norm.vanishing", "grad_norm.spike"})
    EXPECT_FALSE(has(symptoms, id)) << id << "\n" << told(symptoms);
}

TEST(GradNormLevel, ANormThatGrowsWithTheStepsWhileTheLossStaysIsTold) {
  Draw draw(41);
  const auto norm = curve(
      120, [](double i) { return 2 + 40 * (1 - std::exp(-i / 30)); },
      [&] { return 0.5 * draw.normal(); });
  const auto flat = curve(120, [](double) { return 2.9; }, [&] { return 0.05 * draw.normal(); });
  const detectors::Symptom* found = nullptr;
  const auto symptoms = RunOf().loss(flat, 2).grad_norm(norm, 2).detect();
  found = find(symptoms, "grad_norm.climb");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_GT(number(found, "ratio"), 8);
  // A run that learns, and norms that stay small, are left alone.
  const auto falling = curve(
      120, [](double i) { return 1 + 3 * std::exp(-i / 40); },
      [&] { return 0.02 * draw.normal(); });
  EXPECT_FALSE(has(RunOf().loss(falling, 2).grad_norm(norm, 2).detect(), "grad_norm.climb"));
  std::vector<double> small = norm;
  for (double& each : small) each /= 20;
  EXPECT_FALSE(has(RunOf().loss(flat, 2).grad_norm(small, 2).detect(), "grad_norm.climb"));
}

}  // namespace
}  // namespace aplomb::testing
