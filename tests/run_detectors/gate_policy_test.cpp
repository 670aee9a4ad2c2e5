#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> towards(double first, double last, double noise, std::uint64_t seed) {
  Draw draw(seed);
  return curve(
      60, [&](double i) { return first + (last - first) * i / 59; },
      [&] { return noise * draw.normal(); });
}

RunOf policy(double reward, double entropy, double norm, double kl) {
  RunOf run;
  run.with("reward", record::Role::reward, towards(0.02, reward, 0.02, 1));
  run.with("entropy", record::Role::entropy, towards(0.4, entropy, 0.005, 2));
  run.grad_norm(towards(norm, norm, 0.02 * norm, 3));
  run.with("kl", record::Role::kl, towards(0.001, kl, 0.0001, 4));
  return run;
}

TEST(PolicyCourse, AHealthyOneMeetsEveryCriterion) {
  const auto symptoms = policy(0.6, 0.2, 0.15, 0.05).detect();
  const detectors::Symptom* course = find(symptoms, "gate.policy");
  ASSERT_NE(course, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(course, "passed")) << course->summary;
  EXPECT_EQ(course->severity, core::Severity::note);
}

TEST(PolicyCourse, WhatIsNotMetIsNamed) {
  const auto reasons = [](const RunOf& run) { return find(run.detect(), "gate.policy")->summary; };
  EXPECT_NE(reasons(policy(0.02, 0.2, 0.15, 0.05)).find("the reward rises"), std::string::npos);
  EXPECT_NE(reasons(policy(0.6, 0.004, 0.15, 0.05)).find("the entropy stays"), std::string::npos);
  EXPECT_NE(reasons(policy(0.6, 0.2, 14, 0.05)).find("grad_norm is mostly"), std::string::npos);
  EXPECT_NE(reasons(policy(0.6, 0.2, 0.15, 3)).find("kl stays"), std::string::npos);
}

TEST(PolicyCourse, IsOfPoliciesOnly) {
  EXPECT_FALSE(
      has(RunOf().loss(towards(2.3, 1.4, 0.02, 5)).grad_norm(towards(1, 1, 0.1, 6)).detect(),
          "gate.policy"));
}

}  // namespace
}  // namespace aplomb::testing
