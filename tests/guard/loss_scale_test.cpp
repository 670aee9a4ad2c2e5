#include "guard_support.h"

namespace aplomb::guard {
namespace {

/// fp16: gradients overflow where loss scale * norm is beyond `limit`.
class Fp16 {
 public:
  explicit Fp16(GuardOptions options) : guard_(with_scale(options)) {}

  GuardVerdict step(double limit, double norm = 1.0) {
    GuardGroup group;
    if (scale_ * norm > limit) {
      group.nonfinite = 3;
    } else {
      group.sum_squares = scale_ * norm * scale_ * norm;
    }
    const GuardVerdict verdict =
        guard_.step({.step = next_++, .loss = 2.0, .loss_scale = scale_, .groups = {&group, 1}});
    used_ = scale_;
    scale_ = verdict.loss_scale;
    return verdict;
  }
  double scale() const { return scale_; }
  double used() const { return used_; }
  Guard& guard() { return guard_; }

 private:
  static GuardOptions with_scale(GuardOptions options) {
    options.keeps_loss_scale = true;
    return options;
  }
  Guard guard_;
  double scale_ = 65536;
  double used_ = 0;
  std::int64_t next_ = 0;
};

TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterTheInterval) {
  Fp16 run({});
  EXPECT_EQ(run.step(40000).action, GuardAction::skip);
  EXPECT_EQ(run.scale(), 32768);
  for (int i = 0; i < 1999; ++i) {
    const GuardVerdict verdict = run.step(1e9);
    EXPECT_EQ(verdict.action, GuardAction::proceed);
    EXPECT_DOUBLE_EQ(verdict.scale, 1 / run.used());
  }
  EXPECT_EQ(run.scale(), 32768);
  run.step(1e9);
  EXPECT_EQ(run.scale(), 65536);
}

TEST(LossScale, FindsItsScaleWithoutAnAlarm) {
  Fp16 run({});
  for (int i = 0; i < 300; ++i) {
    const GuardVerdict verdict = run.step(700);
    EXPECT_EQ(verdict.reason().find("again and again"), std::string_view::npos);
    EXPECT_EQ(verdict.reason().find("every step"), std::string_view::npos);
  }
  EXPECT_EQ(run.scale(), 512);
  EXPECT_EQ(run.guard().counts().skipped, 7U);
}

TEST(LossScale, TellsThatStepsAreSkippedAgainAndAgain) {
  Fp16 run({.loss_scale_interval = 20});
  bool told = false;
  for (int i = 0; i < 300; ++i)
    told = told || run.step(700).reason().find("again and again") != std::string_view::npos;
  EXPECT_TRUE(told);
}

TEST(LossScale, TellsThatTheScaleIsGone) {
  Fp16 run({.most_skips_in_a_row = 30});
  int told = 0;
  for (int i = 0; i < 25; ++i)
    told += run.step(0).reason().find("every step overflows") != std::string_view::npos ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(LossScale, JudgesAScaleThatAnotherKeeps) {
  Guard guard;
  const GuardGroup bad{1, 0};
  bool told = false;
  double scale = 65536;
  for (int i = 0; i < 18; ++i, scale /= 2) {
    const GuardVerdict verdict =
        guard.step({.step = i, .loss = 2.0, .loss_scale = scale, .groups = {&bad, 1}});
    EXPECT_EQ(verdict.action, GuardAction::skip);
    EXPECT_EQ(verdict.loss_scale, scale) << "not the guard's to change";
    told = told || verdict.policy == "loss_scale";
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace aplomb::guard
