/// The guard's spike rules against the two published ones, on the same curves.

#include "spike_curves.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace aplomb::guard {
namespace {

using namespace test;

constexpr std::uint64_t k_seeds = 20;

TEST(SpikeCurves, TheGuardHitsAllSevenAndRaisesNoFalseAlarm) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    for (const test::Curve& curve : spike_curves(seed)) {
      const Score result = score(curve, guard_rule());
      EXPECT_EQ(result.hit, curve.onset >= 0) << curve.name << ", seed " << seed;
      EXPECT_EQ(result.false_alarms, 0) << curve.name << ", seed " << seed;
      if (curve.over == curve.onset) continue;
      EXPECT_LT(result.late, 900) << curve.name << ", seed " << seed;
    }
  }
}

TEST(SpikeCurves, AsAGradientNormTheSpikesAreSeenToo) {
  std::map<std::string_view, int> hits;
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    for (const test::Curve& curve : spike_curves(seed)) {
      const Score result = score(curve, guard_norm_rule());
      EXPECT_EQ(result.false_alarms, 0) << curve.name << ", seed " << seed;
      hits[curve.name] += result.hit ? 1 : 0;
    }
  }
  // Clipping begins at twice the usual norm: 4 of 2 lies on the border. Climbs are the loss's.
  for (const char* name : {"spike 2 -> 8, one step", "spike at step 30",
                           "second spike 40 steps after a first", "NaN at 1000, spike at 1060"})
    EXPECT_GE(hits[name], 19) << name;
}

TEST(SpikeCurves, ThePeersAreRestatedAsTheyAre) {
  // One NaN makes OLMo's rule skip until it has left the window, and ZClip's never clip again.
  SpikeRule olmo = olmo_rule();
  SpikeRule zclip = zclip_rule();
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 500; ++i) {
    olmo(2 + 0.05 * normal(engine));
    zclip(2 + 0.05 * normal(engine));
  }
  olmo(std::numeric_limits<double>::quiet_NaN());
  zclip(std::numeric_limits<double>::quiet_NaN());
  int skipped = 1;
  while (skipped < 1000 && olmo(2.0)) ++skipped;
  EXPECT_EQ(skipped, 129);
  EXPECT_FALSE(zclip(200.0));
}

}  // namespace
}  // namespace aplomb::guard
