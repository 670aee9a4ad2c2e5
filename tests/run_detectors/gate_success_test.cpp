#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> falling(std::size_t n) {
  Draw draw(1);
  return curve(
      n, [](double i) { return power_law(i, 5, 2); }, [&] { return 0.03 * draw.normal(); });
}

TEST(Success, EachCriterionIsJudgedForItself) {
  RunOf run;
  run.loss(falling(300)).grad_norm(std::vector<double>(300, 0.7));
  run.with("memory", record::Role::memory_bytes, std::vector<double>(300, 30e9));
  run.with("eval_loss", record::Role::eval_loss, {3.0, 2.6, 2.4}, 100, 50);
  const auto symptoms = run.detect();
  const detectors::Symptom* gate = find(symptoms, "gate.success");
  ASSERT_NE(gate, nullptr);
  for (const char* each : {"passed", "finite", "loss_falls", "grad_norm_below_100", "memory_steady",
                           "eval_improves", "hundred_steps"})
    EXPECT_TRUE(flag(gate, each)) << each;
}

TEST(Success, WhatFailsIsNamedAndWhatIsUnknownIsLeftOut) {
  auto loss = falling(300);
  loss[20] = k_nan;
  auto norm = std::vector<double>(300, 0.7);
  norm[9] = 500;
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  const detectors::Symptom* gate = find(symptoms, "gate.success");
  EXPECT_FALSE(flag(gate, "passed"));
  EXPECT_EQ(word(gate, "reasons"), "finite, grad_norm_below_100");
  EXPECT_EQ(gate->measures.count("eval_improves"), 0U);
}

TEST(Success, OneRecordIsNotJudged) {
  EXPECT_FALSE(has(RunOf().loss({2.0}).detect(), "gate.success"));
}

}  // namespace
}  // namespace aplomb::testing
