#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> norms(std::size_t n, double level, double spread) {
  Draw draw(1);
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(level * std::exp(spread * draw.normal()));
  return all;
}

TEST(Clipping, NormsFarAboveTheThresholdInEveryStepAreAWarning) {
  const auto symptoms = RunOf().set("optim.grad_clip", 1.0).grad_norm(norms(100, 20, 0.3)).detect();
  const detectors::Symptom* found = find(symptoms, "clip.every_step");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_EQ(number(found, "threshold"), 1.0);
  EXPECT_EQ(number(found, "share"), 1.0);
}

TEST(Clipping, NormsPinnedAtAMaximumWereLoggedAfterClipping) {
  auto norm = norms(100, 1.3, 0.4);
  for (double& each : norm) each = std::min(each, 1.0);
  const auto symptoms = RunOf().grad_norm(norm).detect();
  const detectors::Symptom* found = find(symptoms, "log.clipped_norm");
  ASSERT_NE(found, nullptr);
  EXPECT_DOUBLE_EQ(number(found, "threshold"), 1.0);
  EXPECT_GT(number(found, "share"), 0.5);
}

TEST(Clipping, IsSilentWhereClippingIsTheException) {
  const auto symptoms =
      RunOf().set("optim.grad_clip", 1.0).grad_norm(norms(200, 0.5, 0.4)).detect();
  EXPECT_FALSE(has(symptoms, "clip.every_step"));
  EXPECT_FALSE(has(symptoms, "log.clipped_norm"));
}

TEST(Clipping, AConstantOrNonFiniteColumnSaysNothing) {
  EXPECT_FALSE(has(RunOf().grad_norm(std::vector<double>(50, 1.0)).detect(), "log.clipped_norm"));
  EXPECT_FALSE(has(RunOf().grad_norm(std::vector<double>(50, k_nan)).detect(), "log.clipped_norm"));
}

}  // namespace
}  // namespace aplomb::testing
