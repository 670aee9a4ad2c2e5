#include <gtest/gtest.h>

#include <cmath>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A run that learns, with norms about `level` times the factor that `holds` gives of the scale.
std::vector<detectors::Symptom> of(const std::vector<double>& scale, double level, bool holds) {
  std::vector<double> norm;
  std::vector<double> loss;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const auto at = static_cast<double>(i);
    norm.push_back(level * (1 + 0.2 * std::sin(2.3 * at)) * (holds ? scale[i] : 1));
    loss.push_back(2 + 3 * std::exp(-at / 60) + 0.02 * std::sin(1.7 * at));
  }
  return RunOf()
      .with("loss", record::Role::loss, loss)
      .with("grad_norm", record::Role::grad_norm, norm)
      .with("loss_scale", record::Role::loss_scale, scale)
      .detect();
}

std::vector<double> doubling(std::size_t size) {
  std::vector<double> scale;
  for (std::size_t i = 0; i < size; ++i)
    scale.push_back(std::ldexp(16384, static_cast<int>(i / 100)));
  return scale;
}

TEST(GradNormScaled, NormsThatGoWithTheScaleAreToldWithTheirTrueSize) {
  const auto symptoms = of(doubling(400), 0.8, true);
  const auto* found = find(symptoms, "grad_norm.scaled");
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(number(found, "unscaled"), 0.8, 0.1);
  EXPECT_EQ(worst(symptoms), core::Severity::warning) << "no norm is judged by its size then";
}

TEST(GradNormScaled, ASteadyScaleThatTheNormsAreAsLargeAsIsEnough) {
  EXPECT_NE(find(of(std::vector<double>(200, 65536), 1.3, true), "grad_norm.scaled"), nullptr);
}

TEST(GradNormScaled, TrueNormsAreLeftAlone) {
  EXPECT_EQ(find(of(doubling(400), 0.8, false), "grad_norm.scaled"), nullptr);
  EXPECT_EQ(find(of(std::vector<double>(200, 65536), 1.3, false), "grad_norm.scaled"), nullptr);
  EXPECT_EQ(find(of(std::vector<double>(200, 4), 0.7, true), "grad_norm.scaled"), nullptr);
}

TEST(GradNormScaled, LargeTrueNormsStayAnInstability) {
  const auto symptoms = of(doubling(400), 400, false);
  EXPECT_EQ(find(symptoms, "grad_norm.scaled"), nullptr);
  EXPECT_NE(find(symptoms, "grad_norm.high"), nullptr);
}

}  // namespace
}  // namespace aplomb::testing
