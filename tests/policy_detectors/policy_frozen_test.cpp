#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A policy whose entropy falls to `entropy`, with one score a group in `alike` of them, and a
/// score of mean `right` over the prompts.
RunOf policy(double entropy, double alike, double right, double first_alike = 0.1) {
  RunOf run;
  for (int i = 0; i < 60; ++i) {
    const double way = std::min(1.0, i / 20.0);
    run.at("reward", record::Role::reward, i, right);
    run.at("entropy", record::Role::entropy, i, 0.7 + way * (entropy - 0.7));
    run.at("frac_reward_zero_std", record::Role::frac_reward_zero_std, i,
           first_alike + way * (alike - first_alike));
    run.at("reward/correct", record::Role::reward_component, i, right);
    run.at("reward_std/correct", record::Role::reward_component_std, i,
           std::sqrt(right * (1 - right)));
  }
  return run;
}

TEST(PolicyFrozen, OneAnswerForEachPromptIsSaid) {
  const auto symptoms = policy(0.02, 0.95, 0.35).detect();
  const detectors::Symptom* found = find(symptoms, "policy.frozen");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_NEAR(number(found, "first"), 0.7, 1e-9);
  EXPECT_NEAR(number(found, "last"), 0.02, 1e-9);
}

TEST(PolicyFrozen, SolvedPromptsAreNone) {
  EXPECT_FALSE(has(policy(0.02, 0.98, 0.97).detect(), "policy.frozen"));
}

TEST(PolicyFrozen, APolicyWithSpreadIsNone) {
  EXPECT_FALSE(has(policy(0.2, 0.95, 0.35).detect(), "policy.frozen"));
  EXPECT_FALSE(has(policy(0.02, 0.5, 0.35).detect(), "policy.frozen"));
}

TEST(PolicyFrozen, GroupsThatWereAlikeFromTheBeginningAreAnotherMatter) {
  EXPECT_FALSE(has(policy(0.02, 0.95, 0.35, 0.9).detect(), "policy.frozen"));
}

}  // namespace
}  // namespace aplomb::testing
