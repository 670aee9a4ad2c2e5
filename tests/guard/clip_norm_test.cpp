#include "guard/clip_norm.h"

#include <array>

#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::Loop;

TEST(ClipNorm, ScalesAsTorchDocumentsIt) {
  Loop loop({.max_norm = 1.0});
  const GuardVerdict clipped = loop.feed(2.0, 4.0);
  EXPECT_EQ(clipped.action, GuardAction::clip);
  EXPECT_DOUBLE_EQ(clipped.scale, 1.0 / (4.0 + 1e-6));
  EXPECT_DOUBLE_EQ(clipped.grad_norm, 4.0);
  EXPECT_TRUE(clipped.reason().empty()) << "the user's own clipping is no news";
  const GuardVerdict small = loop.feed(2.0, 0.5);
  EXPECT_EQ(small.action, GuardAction::proceed);
  EXPECT_EQ(small.scale, 1.0);
}

TEST(ClipNorm, JudgesUnscaledGradientsAndUndoesTheLossScale) {
  Guard guard({.max_norm = 1.0});
  const GuardGroup group{0, 4096.0 * 4096.0};  // norm 4096 under a loss scale of 1024: 4
  GuardStep step{.step = 1, .loss = 2.0, .loss_scale = 1024, .groups = {&group, 1}};
  const GuardVerdict verdict = guard.step(step);
  EXPECT_DOUBLE_EQ(verdict.grad_norm, 4.0);
  EXPECT_DOUBLE_EQ(verdict.scale, 1.0 / (4.0 + 1e-6) / 1024);
  step.unscaled = true;
  EXPECT_DOUBLE_EQ(guard.step(step).grad_norm, 4096.0);
}

TEST(ClipNorm, ClipsEachGroupByItself) {
  Guard guard({.max_group_norm = 1.0});
  const std::array<GuardGroup, 3> groups = {{{0, 0.25}, {0, 100.0}, {0, 1e-8}}};
  const GuardVerdict verdict = guard.step({.step = 1, .loss = 2.0, .groups = groups});
  EXPECT_EQ(verdict.action, GuardAction::clip);
  ASSERT_EQ(verdict.group_scales.size(), 3U);
  EXPECT_EQ(verdict.group_scales[0], 1.0);
  EXPECT_DOUBLE_EQ(verdict.group_scales[1], 1.0 / (10.0 + 1e-6));
  EXPECT_EQ(verdict.group_scales[2], 1.0);
  EXPECT_EQ(verdict.scale, 1.0);
}

}  // namespace
}  // namespace aplomb::guard
