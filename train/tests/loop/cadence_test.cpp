#include "train/loop/cadence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/loop/best_evaluation.h"
#include "train/loop/metrics_window.h"

namespace aplomb::train::loop {
namespace {

TEST(Cadence, WhatHasNoIntervalIsNeverDue) {
  const Cadence cadence{.logging_steps = 3, .save_steps = 7, .eval_steps = 0, .patience = 2};
  EXPECT_TRUE(cadence.records_at(6));
  EXPECT_FALSE(cadence.records_at(7));
  EXPECT_TRUE(cadence.saves_at(14));
  EXPECT_FALSE(cadence.evaluates_at(14));
  EXPECT_FALSE(cadence.stops_after(1));
  EXPECT_TRUE(cadence.stops_after(2));
  EXPECT_FALSE(Cadence{}.stops_after(1000));
}

TEST(BestEvaluation, NaNIsNeverTheBestAndCountsAsNoBetter) {
  BestEvaluation evaluations;
  evaluations.note(10, std::nan(""));
  EXPECT_EQ(evaluations.best_step(), -1);
  evaluations.note(20, 3.0);
  evaluations.note(30, 3.5);
  evaluations.note(40, std::nan(""));
  EXPECT_EQ(evaluations.best_step(), 20);
  EXPECT_EQ(evaluations.since_best(), 2);
  EXPECT_EQ(evaluations.last_step(), 40);
  EXPECT_TRUE(std::isnan(*evaluations.first()));
}

TEST(BestEvaluation, ABestThatIsRolledBackGivesWayToTheNextOne) {
  BestEvaluation evaluations;
  evaluations.note(20, 3.0);
  evaluations.note(30, 1.0);
  evaluations.roll_back(25);
  EXPECT_EQ(evaluations.best_step(), -1);
  evaluations.note(30, 2.0);
  EXPECT_EQ(evaluations.best_step(), 30);
}

TEST(BestEvaluation, WhatTheJournalHoldsOfEarlierEvaluationsDecidesNothing) {
  BestEvaluation evaluations;
  evaluations.restore(20, 1.5, 1);
  evaluations.note_earlier(10, 2.0);
  evaluations.note_earlier(20, 1.5);
  EXPECT_EQ(evaluations.since_best(), 1);
  EXPECT_EQ(evaluations.first(), 2.0);
  evaluations.note(30, 1.6);
  EXPECT_EQ(evaluations.best_step(), 20);
  EXPECT_EQ(evaluations.since_best(), 2);
}

TEST(MetricsWindow, LeavesOutWhatIsNoTraining) {
  const MetricsWindow::Clock::time_point begin{};
  MetricsWindow window;
  window.start(begin);
  window.add(2.0, 100);
  window.add(4.0, 300);
  window.leave_out(std::chrono::seconds(6));
  const auto now = begin + std::chrono::seconds(10);
  EXPECT_DOUBLE_EQ(window.mean_loss(), 3.0);
  EXPECT_DOUBLE_EQ(window.tokens_per_s(now), 100.0);
  EXPECT_DOUBLE_EQ(window.step_time_s(now), 2.0);
}

TEST(MetricsWindow, ARestoredWindowKeepsItsLossesWhenTheClockStarts) {
  MetricsWindow window;
  window.restore(6.0, 2);
  window.start({});
  window.add(3.0, 10);
  EXPECT_DOUBLE_EQ(window.mean_loss(), 3.0);
  window.clear({});
  EXPECT_EQ(window.steps(), 0);
}

}  // namespace
}  // namespace aplomb::train::loop
