#include <aplomb/guard_c.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace {

aplomb_guard_verdict feed(aplomb_guard* guard, int64_t number, double loss, double norm,
                          double* scales = nullptr) {
  aplomb_guard_step_info step;
  aplomb_guard_default_step(&step);
  step.step = number;
  step.loss = loss;
  step.has_loss = 1;
  const aplomb_guard_group group = {0, norm * norm};
  aplomb_guard_verdict verdict;
  aplomb_guard_step(guard, &step, &group, 1, scales, &verdict);
  return verdict;
}

TEST(GuardC, GivesTheSameVerdictsAsTheClass) {
  aplomb_guard_options options;
  aplomb_guard_default_options(&options);
  options.max_norm = 1;
  aplomb_guard* guard = aplomb_guard_new(&options);
  ASSERT_NE(guard, nullptr);
  const aplomb_guard_verdict clipped = feed(guard, 0, 2.0, 4.0);
  EXPECT_EQ(clipped.action, APLOMB_GUARD_CLIP);
  EXPECT_DOUBLE_EQ(clipped.scale, 1 / (4.0 + 1e-6));
  const aplomb_guard_verdict bad = feed(guard, 1, std::numeric_limits<double>::quiet_NaN(), 1.0);
  EXPECT_EQ(bad.action, APLOMB_GUARD_SKIP);
  EXPECT_STREQ(bad.policy, "nonfinite");
  EXPECT_STREQ(bad.reason, "loss is nan");
  aplomb_guard_free(guard);
}

TEST(GuardC, GroupScalesAreOneWhereNothingIsClipped) {
  aplomb_guard_options options;
  aplomb_guard_default_options(&options);
  options.max_group_norm = 1;
  aplomb_guard* guard = aplomb_guard_new(&options);
  double scale = -1;
  feed(guard, 0, 2.0, 0.5, &scale);
  EXPECT_EQ(scale, 1.0);
  feed(guard, 1, 2.0, 4.0, &scale);
  EXPECT_DOUBLE_EQ(scale, 1 / (4.0 + 1e-6));
  aplomb_guard_free(guard);
}

TEST(GuardC, StateRoundTrip) {
  aplomb_guard* guard = aplomb_guard_new(nullptr);
  for (int i = 0; i < 100; ++i) feed(guard, i, 2.0 + 0.01 * (i % 7), 1.0);
  std::string state(aplomb_guard_save(guard, nullptr, 0), '\0');
  EXPECT_EQ(aplomb_guard_save(guard, state.data(), state.size()), state.size());
  aplomb_guard* other = aplomb_guard_new(nullptr);
  EXPECT_EQ(aplomb_guard_load(other, "rubbish", 7), 0);
  EXPECT_EQ(aplomb_guard_load(other, state.data(), state.size()), 1);
  EXPECT_EQ(feed(other, 100, 9.0, 1.0).action, APLOMB_GUARD_SKIP);
  aplomb_guard_free(guard);
  aplomb_guard_free(other);
}

TEST(GuardC, OptionsOfAnotherSizeAreRefused) {
  aplomb_guard_options options;
  aplomb_guard_default_options(&options);
  options.size = 8;
  EXPECT_EQ(aplomb_guard_new(&options), nullptr);
}

}  // namespace
