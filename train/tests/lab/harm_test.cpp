#include "train/lab/harm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::train::lab {
namespace {

Trace trace_of(const std::vector<double>& losses, const char* series = "loss") {
  Trace trace;
  for (std::size_t i = 0; i < losses.size(); ++i)
    trace.samples.push_back({static_cast<std::int64_t>(i) + 1, {{series, losses[i]}}});
  trace.steps = static_cast<std::int64_t>(losses.size());
  return trace;
}

std::vector<double> falling(std::size_t count) {
  std::vector<double> losses;
  for (std::size_t i = 0; i < count; ++i)
    losses.push_back(1 + 4 * std::exp(-0.05 * static_cast<double>(i)));
  return losses;
}

TEST(Harm, NotFiniteIsTheFirstLossOrNormFromWhichNoneComesBack) {
  EXPECT_EQ(not_finite().at(trace_of({3, 2, NAN, NAN}), {}), 3);
  EXPECT_EQ(not_finite().at(trace_of({3, NAN, 2, INFINITY}), {}), 4);
  EXPECT_EQ(not_finite().at(trace_of({3, 2, NAN, 1}), {}), std::nullopt);
  EXPECT_EQ(not_finite().at(trace_of({1, INFINITY}, "grad_norm"), {}), 2);
  EXPECT_EQ(not_finite().at(trace_of({NAN, 2}, "eval_loss"), {}), std::nullopt);
  EXPECT_EQ(not_finite().at(trace_of({3, 2, 1}), {}), std::nullopt);
}

TEST(Harm, AboveTwinNeedsMoreThanASpike) {
  const Trace twin = trace_of(falling(60));
  std::vector<double> spiked = falling(60);
  spiked[30] = spiked[31] = 20;
  EXPECT_EQ(above_twin(2).at(trace_of(spiked), twin), std::nullopt);
  std::vector<double> lost = falling(60);
  for (std::size_t i = 30; i < lost.size(); ++i) lost[i] = 6;
  const auto harm = above_twin(2).at(trace_of(lost), twin);
  ASSERT_TRUE(harm);
  EXPECT_NEAR(static_cast<double>(*harm), 31, 3);
  EXPECT_EQ(above_twin(2).at(twin, twin), std::nullopt);
}

TEST(Harm, AboveTwinTakesNaNForTheWorst) {
  std::vector<double> lost = falling(40);
  for (std::size_t i = 20; i < lost.size(); ++i) lost[i] = NAN;
  const auto harm = above_twin(2).at(trace_of(lost), trace_of(falling(40)));
  EXPECT_EQ(harm, 23);  // three of five records, from the 21st
}

TEST(Harm, HeldOutAboveTwinComparesEvaluationsOfTheSameStep) {
  Trace run;
  Trace twin;
  for (const std::int64_t step : {20, 40, 60, 80})
    twin.samples.push_back({step, {{"eval_loss", 2}}});
  run.samples = {{20, {{"eval_loss", 2.5}}}, {45, {{"eval_loss", 9.0}}}, {50, {{"loss", 9.0}}}};
  EXPECT_EQ(held_out_above_twin(1.5).at(run, twin), std::nullopt);
  run.samples.push_back({60, {{"eval_loss", 3.1}}});
  EXPECT_EQ(held_out_above_twin(1.5).at(run, twin), 60);
  run.samples = {{40, {{"eval_loss", NAN}}}};
  EXPECT_EQ(held_out_above_twin(1.5).at(run, twin), 40);
}

TEST(Harm, LittleLearntIsTheEndOfARunThatDidNotComeDown) {
  const Trace twin = trace_of(falling(100));
  EXPECT_EQ(little_learnt().at(trace_of(std::vector<double>(100, 5.0)), twin), 100);
  EXPECT_EQ(little_learnt().at(twin, twin), std::nullopt);
  // Came down 2 of 4: half the way is not less than half of it.
  EXPECT_EQ(little_learnt(0.45).at(trace_of(std::vector<double>(100, 3.0)), twin), std::nullopt);
  EXPECT_EQ(little_learnt(0.8).at(trace_of(std::vector<double>(100, 3.0)), twin), 100);
}

TEST(Harm, HeldOutRiseIsDoneWhenNobodyWouldHaveGoneOn) {
  const Harm harm = held_out_rises(0.1, 3);
  // The best at the second, three evaluations later a tenth above it.
  EXPECT_EQ(harm.at(trace_of({3, 2, 2.1, 2.15, 2.3, 2.6}, "eval_loss"), {}), 5);
  EXPECT_EQ(harm.at(trace_of({3, 2, 2.1, 2.15}, "eval_loss"), {}), std::nullopt);
  // It came down again; it is the last model that is handed over.
  EXPECT_EQ(harm.at(trace_of({3, 2, 2.3, 2.4, 2.6, 1.9}, "eval_loss"), {}), std::nullopt);
  Trace kept = trace_of({3, 2, 2.3, 2.4, 2.6}, "eval_loss");
  EXPECT_EQ(harm.at(kept, {}), 5);
  kept.result_step = 2;  // the best checkpoint is the result
  EXPECT_EQ(harm.at(kept, {}), std::nullopt);
}

TEST(Lead, IsPositiveWhereTheAlarmCameFirst) {
  EXPECT_EQ(lead_steps(10, 15), 5);
  EXPECT_EQ(lead_steps(15, 15), 0);
  EXPECT_EQ(lead_steps(20, 15), -5);
  EXPECT_EQ(lead_steps(std::nullopt, 15), std::nullopt);
  EXPECT_EQ(lead_steps(10, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace aplomb::train::lab
