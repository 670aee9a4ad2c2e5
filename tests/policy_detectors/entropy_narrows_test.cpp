#include <gtest/gtest.h>

#include <cmath>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A policy whose entropy falls from 1.4 to `entropy`; its reward rises to `level` in the first third
/// and then varies by `noise`, or goes on rising by `gain`.
RunOf policy(double entropy, double level, double noise, double gain = 0) {
  RunOf run;
  for (int i = 0; i < 40; ++i) {
    const double way = i / 39.0;
    const double risen = std::min(1.0, way * 3);
    const double shake = noise * ((i * 7) % 5 - 2) / 2;
    run.at("entropy", record::Role::entropy, i * 100, 1.4 * std::pow(entropy / 1.4, way));
    run.at("reward", record::Role::reward, i * 100,
           -0.4 + (level + 0.4) * risen + shake + gain * way);
  }
  return run;
}

TEST(EntropyNarrows, WhileTheRewardStandsStillUnsettled) {
  const auto symptoms = policy(0.05, 0.3, 0.1).detect();
  const detectors::Symptom* found = find(symptoms, "entropy.narrows");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_NEAR(number(found, "first"), 1.4, 1e-9);
}

TEST(EntropyNarrows, ATaskThatIsSolvedNarrowsAsWell) {
  EXPECT_FALSE(has(policy(0.05, 0.91, 0.085).detect(), "entropy.narrows")) << "all is earned";
  EXPECT_FALSE(has(policy(0.05, 200, 0.5).detect(), "entropy.narrows")) << "it hardly varies";
}

TEST(EntropyNarrows, ARewardThatRisesOnIsSound) {
  EXPECT_FALSE(has(policy(0.05, 0.3, 0.1, 0.8).detect(), "entropy.narrows"));
}

TEST(EntropyNarrows, AnEntropyThatStaysIsSound) {
  EXPECT_FALSE(has(policy(0.5, 0.3, 0.1).detect(), "entropy.narrows"));
}

}  // namespace
}  // namespace aplomb::testing
