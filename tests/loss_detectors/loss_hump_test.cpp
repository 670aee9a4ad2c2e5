#include "detection/feed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::testing {
namespace {

/// From `start` up to `peak` within a fifth of the run, and down again to `end`.
std::vector<double> hump(std::size_t size, double start, double peak, double end) {
  return curve(
      size,
      [=](double i) {
        const double at = i / static_cast<double>(size);
        if (at < 0.2) return start + (peak - start) * at / 0.2;
        return end + (peak - end) * std::exp(-(at - 0.2) * 12);
      },
      [] { return 0.0; });
}

TEST(LossHump, ALossThatLeapsAndComesBackIsSaid) {
  const auto symptoms = RunOf().loss(hump(60, 4.7, 212, 2.7)).detect();
  const detectors::Symptom* found = find(symptoms, "loss.hump");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_NEAR(number(found, "ratio"), 45, 1);
}

TEST(LossHump, WhatStaysUpIsDivergence) {
  EXPECT_FALSE(has(RunOf().loss(hump(60, 2.3, 40, 12)).detect(), "loss.hump"));
}

TEST(LossHump, ARoughStartAndASpikeAreNone) {
  EXPECT_FALSE(has(RunOf().loss(hump(60, 5.6, 9, 2.7)).detect(), "loss.hump"));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draw draw(seed);
    auto loss = curve(
        400, [](double i) { return power_law(i, 8, 2); }, [&] { return 0.3 * draw.normal(); });
    loss[30] = 60;
    EXPECT_FALSE(has(RunOf().loss(loss).detect(), "loss.hump")) << "seed " << seed;
  }
}

TEST(LossHump, IsSilentWithNothingToCompareWith) {
  EXPECT_FALSE(has(RunOf().loss({2.0, 40, 60, 50, 1.9}).detect(), "loss.hump"));
  EXPECT_FALSE(has(RunOf().loss(hump(60, -4.7, 212, -9)).detect(), "loss.hump"));
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(40, k_nan)).detect(), "loss.hump"));
}

}  // namespace
}  // namespace aplomb::testing
