#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A curve that falls from 5.6 to 1.9 and is back at 5.6 in `length` records from `begin` on.
std::vector<double> with_setback(std::size_t size, std::size_t begin, std::size_t length,
                                 std::uint64_t seed) {
  Draw draw(seed);
  auto loss = curve(
      size, [](double i) { return 1.9 + 3.7 * std::exp(-i / 15); },
      [&] { return 0.05 * draw.normal(); });
  for (std::size_t i = begin; i < begin + length; ++i) loss[i] = 5.6 + 0.05 * draw.normal();
  return loss;
}

TEST(LossSetback, ALossThatHasToComeDownOnceMoreIsSaid) {
  const auto symptoms = RunOf().loss(with_setback(120, 70, 15, 1)).detect();
  const detectors::Symptom* found = find(symptoms, "loss.setback");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_EQ(found->first_step, 70);
  EXPECT_EQ(found->last_step, 84);
  EXPECT_NEAR(number(found, "records"), 15, 0.5);
  EXPECT_LT(number(found, "before"), 3);
}

TEST(LossSetback, TheLongestOfSeveralIsTold) {
  auto loss = with_setback(200, 60, 4, 2);
  for (std::size_t i = 120; i < 130; ++i) loss[i] = 5.7;
  const auto symptoms = RunOf().loss(loss).detect();
  EXPECT_NEAR(number(find(symptoms, "loss.setback"), "step"), 120, 0.5) << told(symptoms);
}

TEST(LossSetback, ASpikeANoisyRunAndAHealthyOneAreNone) {
  EXPECT_FALSE(has(RunOf().loss(with_setback(120, 70, 1, 3)).detect(), "loss.setback"));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draw draw(seed);
    const auto loss = curve(
        400, [](double i) { return power_law(i, 5.6, 1.9); }, [&] { return 0.6 * draw.normal(); });
    EXPECT_FALSE(has(RunOf().loss(loss).detect(), "loss.setback")) << "seed " << seed;
  }
}

TEST(LossSetback, WhatStaysUpIsDivergence) {
  EXPECT_FALSE(has(RunOf().loss(with_setback(120, 70, 50, 4)).detect(), "loss.setback"));
}

TEST(LossSetback, AnotherRunInTheSameLogIsNone) {
  const auto once = with_setback(60, 0, 0, 5);
  RunOf run;
  for (int i = 0; i < 60; ++i)
    run.at("loss", record::Role::loss, i, once[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 60; ++i)
    run.at("loss", record::Role::loss, i, once[static_cast<std::size_t>(i)]);
  EXPECT_FALSE(has(run.detect(), "loss.setback"));
}

TEST(LossSetback, IsSilentWithNothingToCompareWith) {
  EXPECT_FALSE(has(RunOf().loss({5.6, 2, 5.6, 5.6, 5.6, 2}).detect(), "loss.setback"));
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(40, k_nan)).detect(), "loss.setback"));
}

}  // namespace
}  // namespace aplomb::testing
