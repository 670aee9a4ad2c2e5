#include "diagnosis/remedy.h"

#include <gtest/gtest.h>

#include "diagnosis/cause_book.h"

namespace aplomb::diagnosis {
namespace {

FactTable facts_of(std::vector<record::Fact> list) {
  FactTable facts;
  for (record::Fact& fact : list) facts.set(std::move(fact));
  return facts;
}

TEST(Remedy, ValuesFollowFromTheRunsOwnNumbers) {
  const FactTable facts = facts_of({{"lr.usual_high", 5e-5, "", {}}, {"batch.micro", 3.0, "", {}}});
  EXPECT_EQ(*core::as_number(*value_for(core::Value("= lr.usual_high"), facts)), 5e-5);
  EXPECT_EQ(*core::as_number(*value_for(core::Value("= batch.micro / 2"), facts)), 1.0);
  EXPECT_EQ(*core::as_number(*value_for(core::Value("= batch.micro / 8"), facts)), 1.0);
  EXPECT_EQ(*core::as_number(*value_for(core::Value("= batch.micro * 2"), facts)), 6.0);
  EXPECT_EQ(*core::as_number(*value_for(core::Value("= lr.usual_high / 3"), facts)), 1.7e-5);
  EXPECT_EQ(*core::as_text(*value_for(core::Value("cosine"), facts)), "cosine");
  EXPECT_FALSE(value_for(core::Value("= unknown.fact"), facts));
}

TEST(Remedy, ARuleAppliesWhereItsConditionHoldsAndLeavesUnknownSettingsOut) {
  RemedyRule first{{*Condition::parse("lr.over_usual >= 3")},
                   {"lower it from {lr.peak}", {{"optim.lr", "= lr.usual_high"}}}};
  RemedyRule second{{}, {"clip", {{"optim.grad_clip", 1.0}, {"batch.micro", "= batch.micro / 2"}}}};
  const std::vector<RemedyRule> rules = {first, second};
  const auto without = applying(rules, facts_of({}));
  ASSERT_EQ(without.size(), 1U);
  EXPECT_EQ(without[0].set.size(), 1U);
  const auto with = applying(rules, facts_of({{"lr.over_usual", 10.0, "", {}},
                                              {"lr.peak", 0.5, "", {}},
                                              {"lr.usual_high", 0.05, "", {}}}));
  ASSERT_EQ(with.size(), 2U);
  EXPECT_EQ(with[0].text, "lower it from 0.5");
  EXPECT_EQ(*core::as_number(with[0].set[0].second), 0.05);
}

TEST(Remedy, WhatIsInForceAlreadyIsNotTold) {
  const std::vector<RemedyRule> rules = {
      {{}, {"clip", {{"optim.grad_clip", 1.0}}}},
      {{}, {"plain kernels", {{"attn.impl", std::string("eager")}, {"compile.enabled", false}}}},
      {{}, {"warm up", {{"schedule.warmup_frac", 0.05}}}},
      {{}, {"look at the data", {}}}};
  const auto told = [&](std::vector<record::Fact> list) {
    std::string all;
    for (const Remedy& remedy : applying(rules, facts_of(std::move(list)))) {
      all += remedy.text + " ";
      for (const auto& [name, value] : remedy.set) all += "[" + name + "] ";
    }
    return all;
  };
  const std::string all =
      "clip [optim.grad_clip] plain kernels [attn.impl] [compile.enabled] warm up "
      "[schedule.warmup_frac] look at the data ";
  EXPECT_EQ(told({}), all);
  EXPECT_EQ(told({{"optim.grad_clip", 1.0, "", {}},
                  {"attn.impl", std::string("Eager"), "", {}},
                  {"schedule.warmup_frac", 0.1, "", {}}}),
            "plain kernels [compile.enabled] look at the data ");
  EXPECT_EQ(told({{"optim.grad_clip", 0.5, "", {}}, {"compile.enabled", false, "", {}}}),
            "plain kernels [attn.impl] warm up [schedule.warmup_frac] look at the data ");
  EXPECT_EQ(told({{"optim.grad_clip", 0.0, "", {}}, {"schedule.warmup_frac", 0.01, "", {}}}), all)
      << "0 is no clipping, and a shorter warm-up is none";
  EXPECT_EQ(told({{"optim.grad_clip", 50.0, "", {}}}), all) << "a clip at 50 lets all through";
}

TEST(Remedy, WhatTheRunDidNotKeepToIsToldThoughItWasAskedFor) {
  RemedyRule rule{{}, {"keep to {lr.jump.before}", {{"optim.lr", "= lr.jump.before"}}}, true};
  const FactTable facts = facts_of({{"lr.jump.before", 0.05, "", {}}, {"optim.lr", 0.05, "", {}}});
  const auto told = applying({rule}, facts);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text, "keep to 0.05");
  EXPECT_TRUE(told[0].set.empty());
  rule.stands = false;
  EXPECT_TRUE(applying({rule}, facts).empty());
}

TEST(Remedy, NoCardIsToldToComputeInAFormatThatItLacks) {
  const FactTable without = facts_of({{"hardware.bf16", false, "", {}}});
  const FactTable with = facts_of({{"hardware.bf16", true, "", {}}});
  std::size_t told = 0;
  const auto in_bf16 = [](const Remedy& remedy) {
    for (const auto& [name, value] : remedy.set) {
      if (name == "precision.compute" && value == core::Value(std::string("bf16"))) return true;
    }
    return false;
  };
  for (const Cause& cause : cause_book().causes) {
    for (const Remedy& remedy : applying(cause.remedies, without))
      EXPECT_FALSE(in_bf16(remedy)) << cause.id << ": " << remedy.text;
    for (const Remedy& remedy : applying(cause.remedies, with)) told += in_bf16(remedy) ? 1U : 0U;
  }
  EXPECT_GE(told, 5U);
}

}  // namespace
}  // namespace aplomb::diagnosis
