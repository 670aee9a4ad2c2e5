#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

std::vector<double> norms(double spread, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<double> values;
  for (int i = 0; i < 50; ++i) values.push_back(0.3 * std::exp(spread * draw.normal()));
  return values;
}

TEST(NormNoise, NormsThatJumpBesideAFlatLoss) {
  std::vector<double> losses(50, 6.1);
  losses[0] = 7.2;
  losses[1] = 6.5;
  const auto symptoms = RunOf().loss(losses).grad_norm(norms(0.8, 14)).detect();
  const detectors::Symptom* jumping = find(symptoms, "grad_norm.jumping");
  ASSERT_NE(jumping, nullptr) << told(symptoms);
  EXPECT_GT(number(jumping, "ratio"), 3);
}

TEST(NormNoise, SteadyNormsOrALossThatFallsAreNone) {
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(50, 6.1)).grad_norm(norms(0.2, 15)).detect(),
                   "grad_norm.jumping"));
  const auto falls = curve(50, [](double i) { return 6.1 - 0.05 * i; }, [] { return 0.0; });
  EXPECT_FALSE(has(RunOf().loss(falls).grad_norm(norms(0.8, 16)).detect(), "grad_norm.jumping"));
}

TEST(NormNoise, NanAndZeroAreNoNorms) {
  auto values = norms(0.2, 17);
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? 0 : k_nan;
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(50, 6.1)).grad_norm(values).detect(),
                   "grad_norm.jumping"));
}

}  // namespace
}  // namespace aplomb::testing
