#include "compare/settings_diff.h"

#include <gtest/gtest.h>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

using test::add_setting;

std::vector<std::string> names_of(const aplomb::record::Run& a, const aplomb::record::Run& b) {
  std::vector<std::string> names;
  for (const SettingDifference& each : settings_diff(a, b)) names.push_back(each.name);
  return names;
}

TEST(SettingsDiff, MostSuspiciousFirst) {
  aplomb::record::Run a;
  aplomb::record::Run b;
  for (aplomb::record::Run* run : {&a, &b}) {
    const bool of_a = run == &a;
    add_setting(*run, "save.steps", of_a ? 100.0 : 500.0);
    add_setting(*run, "env.torch", std::string(of_a ? "2.3.0" : "2.4.0"));
    add_setting(*run, "seed.value", of_a ? 1.0 : 2.0);
    add_setting(*run, "optim.weight_decay", of_a ? 0.1 : 0.11);
    add_setting(*run, "optim.lr", of_a ? 1e-4 : 1e-2);
    add_setting(*run, "optim.beta2", 0.95);
  }
  add_setting(b, "attn.impl", std::string("sdpa"));
  EXPECT_EQ(names_of(a, b), (std::vector<std::string>{"optim.lr", "optim.weight_decay", "attn.impl",
                                                      "seed.value", "env.torch", "save.steps"}));
}

TEST(SettingsDiff, SaysWhereEachStands) {
  aplomb::record::Run a;
  a.name = "runs/a";
  aplomb::record::Run b;
  b.name = "runs/b";
  add_setting(a, "optim.lr", 1e-4, 7);
  add_setting(b, "optim.lr", 2e-4, 9);
  const auto all = settings_diff(a, b);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].a->path, "runs/a/train.log");
  EXPECT_EQ(all[0].a->line, 7U);
  EXPECT_EQ(all[0].b->line, 9U);
  EXPECT_EQ(all[0].reach, Reach::training);
}

TEST(SettingsDiff, TheSameBatchInOtherPartsChangesNoTraining) {
  aplomb::record::Run a;
  aplomb::record::Run b;
  add_setting(a, "batch.micro", 8.0);
  add_setting(a, "batch.accumulation", 1.0);
  add_setting(b, "batch.micro", 2.0);
  add_setting(b, "batch.accumulation", 4.0);
  for (const auto& each : settings_diff(a, b)) EXPECT_EQ(each.reach, Reach::execution);
  add_setting(b, "batch.accumulation", 2.0);
  for (const auto& each : settings_diff(a, b)) EXPECT_EQ(each.reach, Reach::training);
}

TEST(SettingsDiff, TheLastOfEqualNamesCounts) {
  aplomb::record::Run a;
  aplomb::record::Run b;
  add_setting(a, "optim.lr", 1.0);
  add_setting(a, "optim.lr", 2e-4);
  add_setting(b, "optim.lr", 0.0002);
  EXPECT_TRUE(settings_diff(a, b).empty());
}

}  // namespace
}  // namespace aplomb::compare
