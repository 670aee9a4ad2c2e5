#include "knowledge/framework.h"

#include <gtest/gtest.h>

#include <set>

namespace aplomb::knowledge {
namespace {

TEST(Frameworks, FindAKeyInAnyCaseAndScaleIt) {
  const auto loss = find_series_alias("Train/Loss");
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->series, "loss");
  const auto time = find_series_alias("step_time_ms");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->series, "step_time_s");
  EXPECT_DOUBLE_EQ(time->scale, 0.001);
  EXPECT_FALSE(find_series_alias("surely_no_metric_of_anyone"));
}

TEST(Frameworks, PutWhatTheStarCaughtBackIn) {
  const auto reward = find_series_alias("rewards/accuracy_Fn/mean");
  ASSERT_TRUE(reward);
  EXPECT_EQ(reward->series, "reward/accuracy_Fn");
  EXPECT_EQ(series_role(reward->series), record::Role::reward_component);
}

TEST(Frameworks, KnowStepKeysAndRoles) {
  EXPECT_TRUE(is_step_key("global_step"));
  EXPECT_FALSE(is_step_key("loss"));
  EXPECT_EQ(series_role("grad_norm"), record::Role::grad_norm);
  EXPECT_EQ(series_role("loss/box"), record::Role::loss_component);
  EXPECT_EQ(series_role("loss/"), record::Role::other);
  EXPECT_EQ(series_role("something"), record::Role::other);
}

TEST(Frameworks, EverySlugIsUniqueAndNamed) {
  std::set<std::string> slugs;
  for (const Framework& framework : frameworks()) {
    EXPECT_FALSE(framework.slug.empty());
    EXPECT_FALSE(framework.name.empty()) << framework.slug;
    EXPECT_TRUE(slugs.insert(framework.slug).second) << framework.slug;
    for (const SeriesAlias& alias : framework.series) {
      EXPECT_FALSE(alias.series.empty()) << framework.slug << ": " << alias.key;
    }
    for (const SettingKey& key : framework.settings) {
      EXPECT_FALSE(key.setting.empty()) << framework.slug << ": " << key.key;
    }
  }
}

}  // namespace
}  // namespace aplomb::knowledge
