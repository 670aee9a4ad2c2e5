#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> falling(std::size_t n, std::uint64_t seed, double sigma = 0.03) {
  Draw draw(seed);
  return curve(
      n, [](double i) { return power_law(i, 4, 1.6); }, [&] { return sigma * draw.normal(); });
}

TEST(Healthy, IsSaidOfHealthyRunsAndMoreSurelyOfLongerOnes) {
  double before = 0;
  for (const std::size_t n : {6U, 20U, 100U, 1000U}) {
    const auto symptoms =
        RunOf().loss(falling(n, n)).grad_norm(std::vector<double>(n, 0.6)).detect();
    const double confidence = number(find(symptoms, "run.healthy"), "confidence");
    EXPECT_GT(confidence, before) << n << "\n" << told(symptoms);
    EXPECT_LT(confidence, 1.0);
    before = confidence;
  }
  EXPECT_GT(before, 0.8);
}

TEST(Healthy, IsNeverSaidOfOneOrTwoRecords) {
  EXPECT_FALSE(has(RunOf().loss({2.3}).detect(), "run.healthy"));
  EXPECT_FALSE(has(RunOf().loss({2.3, 2.0}).detect(), "run.healthy"));
}

TEST(Healthy, IsNotSaidBesideAnAlarm) {
  auto loss = falling(300, 1);
  loss.back() = k_nan;
  EXPECT_FALSE(has(RunOf().loss(loss).detect(), "run.healthy"));
  const auto flat = RunOf().loss(std::vector<double>(100, 2.0)).detect();
  EXPECT_FALSE(has(flat, "run.healthy"));
}

TEST(Healthy, IsSaidInNearlyEveryDrawOfAHealthyRunWithNoAlarmBesideIt) {
  int said = 0;
  int alarms = 0;
  constexpr int k_runs = 60;
  for (int seed = 0; seed < k_runs; ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed));
    const auto n = static_cast<std::size_t>(draw.uniform(30, 1500));
    const double sigma = draw.uniform(0.01, 0.12);
    std::vector<double> norm;
    std::vector<double> lr;
    for (std::size_t i = 0; i < n; ++i) {
      norm.push_back(0.6 * std::exp(0.3 * draw.normal()) +
                     2 * std::exp(-static_cast<double>(i) / 20));
      lr.push_back(3e-4 *
                   std::min(1.0, static_cast<double>(i + 1) / (0.05 * static_cast<double>(n))));
    }
    const auto symptoms = RunOf()
                              .loss(falling(n, static_cast<std::uint64_t>(seed) + 500, sigma))
                              .grad_norm(norm)
                              .with("lr", record::Role::lr, lr)
                              .detect();
    said += has(symptoms, "run.healthy") ? 1 : 0;
    alarms += worst(symptoms) >= core::Severity::unstable ? 1 : 0;
  }
  EXPECT_GE(said, k_runs * 9 / 10);
  EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace aplomb::testing
