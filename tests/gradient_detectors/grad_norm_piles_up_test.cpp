#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(GradientsPile, ANormOfWhatIsNeverSetToZero) {
  RunOf run;
  run.with("|g_enc|", record::Role::other,
           {0.03, 0.2,  0.19,  0.69,  0.54,  0.94,  1.02,  1.38,  1.3,  1.36, 1.38,
            62.4, 88.4, 169.2, 169.4, 172.4, 172.5, 172.5, 172.5, 1257, 1257},
           10);
  run.with("|g_head|", record::Role::other,
           {0.07, 0.13, 0.14, 0.26, 0.14, 0.05, 0.4,  0.34, 0.68, 1.1, 0.64,
            0.5,  1.05, 1.0,  0.68, 0.7,  1.38, 0.98, 0.42, 0.55, 0.47},
           10);
  run.loss(std::vector<double>(21, 1.4), 10);
  const auto symptoms = run.detect();
  const detectors::Symptom* piles = find(symptoms, "grad_norm.piles_up");
  ASSERT_NE(piles, nullptr) << told(symptoms);
  EXPECT_EQ(piles->series, "|g_enc|");
}

TEST(GradientsPile, ASumThatIsSetToZeroOncePerPass) {
  std::vector<double> norms;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 1; i <= 25; ++i) norms.push_back((2.5 - pass) * i * (1 - 0.01 * i));
  }
  const auto symptoms =
      RunOf().loss(std::vector<double>(norms.size(), 2.3)).grad_norm(norms).detect();
  const detectors::Symptom* piles = find(symptoms, "grad_norm.piles_up");
  ASSERT_NE(piles, nullptr) << told(symptoms);
  EXPECT_NEAR(number(piles, "growth"), 25 * 0.75 / 1.96, 3);
}

TEST(GradientsPile, ARunThatDivergesByAFactorARecordIsNone) {
  std::vector<double> norms;
  for (int i = 0; i < 30; ++i) norms.push_back(0.5 * std::pow(1.3, i));
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(30, 1.4)).grad_norm(norms).detect(),
                   "grad_norm.piles_up"));
}

TEST(GradientsPile, NormsThatGrowWithTheirNoise) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Draw draw(seed);
    const auto norms = curve(
        60, [](double i) { return 0.5 * std::exp(i / 15); }, [&] { return 0.4 * draw.normal(); });
    std::vector<double> positive;
    for (const double norm : norms) positive.push_back(std::fabs(norm) + 0.01);
    EXPECT_FALSE(has(RunOf().loss(std::vector<double>(60, 1.4)).grad_norm(positive).detect(),
                     "grad_norm.piles_up"));
  }
}

}  // namespace
}  // namespace aplomb::testing
