#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A GRPO log whose KL wanders upwards; the loss is `beta` times it, and a noise around 0.
RunOf grpo(double beta, double noise, std::uint64_t seed, int records = 60) {
  Draw draw(seed);
  RunOf run;
  for (int i = 0; i < records; ++i) {
    const double kl = 0.05 * i * (1 + 0.2 * draw.normal());
    run.at("reward", record::Role::reward, i, 0.4).at("kl", record::Role::kl, i, kl);
    run.at("loss", record::Role::loss, i, beta * kl + noise * draw.normal());
  }
  return run;
}

TEST(KlRewarded, ATermThatIsSubtractedIsSaid) {
  const auto symptoms = grpo(-0.5, 0.01, 1).detect();
  const detectors::Symptom* found = find(symptoms, "kl.rewarded");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_NEAR(number(found, "slope"), -0.5, 0.05);
}

TEST(KlRewarded, ATermThatIsAddedIsSilent) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_FALSE(has(grpo(0.04, 0.02, seed).detect(), "kl.rewarded")) << "seed " << seed;
    EXPECT_FALSE(has(grpo(0.5, 0.0, seed).detect(), "kl.rewarded")) << "seed " << seed;
  }
}

TEST(KlRewarded, ACommonDriftIsNoCorrelation) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draw draw(seed);
    RunOf run;
    for (int i = 0; i < 100; ++i) {
      run.at("reward", record::Role::reward, i, 0.4)
          .at("kl", record::Role::kl, i, 0.02 * i + 0.05 * draw.normal());
      run.at("loss", record::Role::loss, i, -0.01 * i + 0.05 * draw.normal());
    }
    EXPECT_FALSE(has(run.detect(), "kl.rewarded")) << "seed " << seed;
  }
}

TEST(KlRewarded, IsSilentOutsideReinforcementAndInShortLogs) {
  EXPECT_FALSE(has(grpo(-0.5, 0.0, 1, 12).detect(), "kl.rewarded"));
  RunOf supervised;
  for (int i = 0; i < 40; ++i) {
    const double kl = (i % 7) * 0.3;
    supervised.at("kl", record::Role::kl, i, kl).at("loss", record::Role::loss, i, -kl);
  }
  EXPECT_FALSE(has(supervised.detect(), "kl.rewarded"));
}

}  // namespace
}  // namespace aplomb::testing
