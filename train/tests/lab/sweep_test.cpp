#include "train/lab/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "train/lab/sweep_report.h"
#include "train/lab/twins.h"

namespace aplomb::train::lab {
namespace {

Trial trial_with(std::optional<std::int64_t> alarm, std::optional<std::int64_t> guard,
                 std::optional<std::int64_t> harm) {
  Trial trial;
  trial.fault = "nan.poisoned-batch";
  trial.family = "nan";
  trial.causes = {"nan.bad-data-nonfinite"};
  trial.harm = harm;
  if (alarm) trial.alarm = Alarm{*alarm, core::Severity::failed, "loss.nonfinite"};
  trial.guard_alarm = guard;
  trial.opinion = {"failed", {{"nan.bad-data-nonfinite", 0.8}, {"nan.unstable-op", 0.1}}, "", true};
  return trial;
}

TEST(Trial, SpeaksWithTheEarlierOfBothVoices) {
  EXPECT_EQ(trial_with(12, 9, 15).lead(), 6);
  EXPECT_EQ(trial_with(12, std::nullopt, 15).lead(), 3);
  EXPECT_TRUE(trial_with(15, std::nullopt, 15).detected());
  EXPECT_FALSE(trial_with(16, std::nullopt, 15).detected());
  EXPECT_FALSE(trial_with(std::nullopt, std::nullopt, 15).detected());
}

TEST(Trial, WhatIsSaidBeforeTheRunIsCountedApart) {
  Trial trial = trial_with(20, std::nullopt, 15);
  trial.before = Alarm{0, core::Severity::unstable, "code.no-zero-grad"};
  EXPECT_TRUE(trial.detected());
  EXPECT_TRUE(trial.detected_before());
  EXPECT_FALSE(trial.detected_live());
  EXPECT_EQ(trial.spoke_at(), 0);
  EXPECT_EQ(trial.lead(), -5);
  Tally tally;
  tally.add(trial, GuardRole::nothing);
  EXPECT_EQ(tally.before, 1);
  EXPECT_EQ(tally.live, 0);
  EXPECT_EQ(tally.detected, 1);
  EXPECT_TRUE(tally.leads.empty());
}

TEST(Trial, IsAvertedByNoHarmOrAHaltAndOnlyWhereTheGuardWasThere) {
  Trial trial = trial_with(12, 9, 15);
  EXPECT_FALSE(trial.averted());
  trial.guarded = true;
  EXPECT_TRUE(trial.averted());
  trial.guarded_harm = 20;
  EXPECT_FALSE(trial.averted());
  trial.guard_halted = true;
  EXPECT_TRUE(trial.averted());
}

TEST(Trial, IsTheSameAfterJson) {
  Trial trial = trial_with(12, 9, 15);
  trial.guarded = true;
  trial.before = Alarm{0, core::Severity::warning, "optimizer.eps-large"};
  trial.style = Style::hf;
  trial.seed = 7;
  trial.last_loss = 2.5;
  const Trial back = trial_of(nlohmann::ordered_json::parse(to_json(trial).dump()));
  EXPECT_EQ(to_json(back).dump(), to_json(trial).dump());
  EXPECT_EQ(back.lead(), 6);
}

TEST(Trial, TakesALossThatIsNaNThroughJson) {
  Trial trial = trial_with(1, {}, 1);
  trial.last_loss = NAN;
  const Trial back = trial_of(nlohmann::ordered_json::parse(to_json(trial).dump()));
  EXPECT_TRUE(std::isnan(back.last_loss));
}

TEST(Tally, CountsHarmDetectionAndTheGuardApart) {
  Tally tally;
  Trial good = trial_with(12, 9, 15);
  good.guarded = true;
  tally.add(good, GuardRole::avoids);
  tally.add(trial_with(20, {}, 15), GuardRole::nothing);
  tally.add(trial_with(20, {}, {}), GuardRole::nothing);
  EXPECT_EQ(tally.runs, 3);
  EXPECT_EQ(tally.harmed, 2);
  EXPECT_EQ(tally.detected, 1);
  EXPECT_EQ(tally.guardable, 1);
  EXPECT_EQ(tally.averted, 1);
  EXPECT_EQ(tally.median_lead(), 6);
  EXPECT_EQ(tally.first, 3);
}

TEST(CalibrationError, IsTheDistanceBetweenSaidAndRight) {
  Trial right = trial_with(1, {}, 1);
  Trial wrong = right;
  wrong.causes = {"nan.unstable-op"};
  // Two answers of 0.8, one of them right.
  EXPECT_NEAR(calibration_error({right, wrong}), 0.3, 1e-9);
  EXPECT_EQ(calibration_error({}), 0);
}

TEST(FalseAlarm, IsAnythingWorseThanAWarning) {
  Trial twin;
  twin.opinion.verdict = "healthy";
  EXPECT_FALSE(is_false_alarm(twin));
  twin.opinion.verdict = "warning";
  EXPECT_FALSE(is_false_alarm(twin));
  twin.alarm = Alarm{5, core::Severity::warning, "loss.spike"};
  EXPECT_FALSE(is_false_alarm(twin));
  twin.opinion.guesses = {{"diverge.bad-batch", 0.6}};
  EXPECT_TRUE(is_false_alarm(twin));
  twin.opinion.guesses.clear();
  twin.alarm->severity = core::Severity::unstable;
  EXPECT_TRUE(is_false_alarm(twin));
  twin.alarm.reset();
  EXPECT_FALSE(is_false_alarm(twin));
  twin.before = Alarm{0, core::Severity::warning, "optimizer.lr-too-high"};
  EXPECT_TRUE(is_false_alarm(twin));
}

TEST(Glob, MatchesStarsAndSingleLetters) {
  EXPECT_TRUE(matches_glob("nan.*", "nan.poisoned-batch"));
  EXPECT_TRUE(matches_glob("*batch*", "nan.poisoned-batch"));
  EXPECT_TRUE(matches_glob("na?.*", "nan.x"));
  EXPECT_FALSE(matches_glob("nan.*", "stall.x"));
  EXPECT_FALSE(matches_glob("nan", "nan.x"));
  EXPECT_TRUE(matches_glob("**", ""));
  EXPECT_FALSE(matches_glob("?", ""));
}

}  // namespace
}  // namespace aplomb::train::lab
