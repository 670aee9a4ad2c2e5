#include <gtest/gtest.h>

#include <cmath>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> schedule(std::size_t n, std::size_t warmup, double peak) {
  std::vector<double> lr;
  for (std::size_t i = 0; i < n; ++i) {
    const double up =
        warmup == 0 ? 1.0 : std::min(1.0, static_cast<double>(i) / static_cast<double>(warmup));
    const double down =
        i <= warmup ? 1.0 : 1.0 - static_cast<double>(i - warmup) / static_cast<double>(n - warmup);
    lr.push_back(peak * up * std::max(0.0, down));
  }
  return lr;
}

std::vector<detectors::Symptom> of(const std::vector<double>& lr, std::int64_t every = 10) {
  return RunOf().with("lr", record::Role::lr, lr, every).detect();
}

TEST(LearningRate, ZeroThroughoutBesideAFlatLossIsUnstable) {
  Draw draw(1);
  const auto loss = curve(50, [](double) { return 2.0; }, [&] { return 0.01 * draw.normal(); });
  const auto symptoms =
      RunOf().loss(loss).with("lr", record::Role::lr, std::vector<double>(50, 0.0)).detect();
  EXPECT_EQ(find(symptoms, "lr.zero_throughout")->severity, core::Severity::unstable);
}

TEST(LearningRate, ZeroThroughoutBesideAFallingLossIsRounding) {
  Draw draw(2);
  const auto loss =
      curve(100, [](double i) { return power_law(i, 5, 2); }, [&] { return 0.01 * draw.normal(); });
  const auto symptoms =
      RunOf().loss(loss).with("lr", record::Role::lr, std::vector<double>(100, 0.0)).detect();
  EXPECT_EQ(find(symptoms, "lr.zero_throughout")->severity, core::Severity::note);
  EXPECT_TRUE(flag(find(symptoms, "lr.zero_throughout"), "rounded"));
}

TEST(LearningRate, NoWarmupShortWarmupAndProperWarmupAreToldApart) {
  EXPECT_TRUE(has(of(schedule(500, 0, 3e-4)), "lr.no_warmup"));
  EXPECT_TRUE(has(of(schedule(500, 3, 3e-4)), "lr.short_warmup"));
  EXPECT_EQ(number(find(of(schedule(500, 3, 3e-4)), "lr.short_warmup"), "warmup_steps"), 30);
  const auto proper = of(schedule(500, 25, 3e-4));
  EXPECT_FALSE(has(proper, "lr.no_warmup"));
  EXPECT_FALSE(has(proper, "lr.short_warmup"));
}

TEST(LearningRate, AWarmupThatLastsTheWholeRunIsAWarning) {
  EXPECT_EQ(find(of(schedule(100, 200, 1e-4)), "lr.warmup_whole_run")->severity,
            core::Severity::warning);
}

TEST(LearningRate, AWarmupCutShortByTheEndOfTheLogIsANote) {
  const auto symptoms = RunOf()
                            .set("train.max_steps", 10000.0)
                            .with("lr", record::Role::lr, schedule(20, 50, 1e-4), 10)
                            .detect();
  EXPECT_EQ(find(symptoms, "lr.warmup_whole_run")->severity, core::Severity::note);
}

TEST(LearningRate, ThreeFallingRecordsSuffice) {
  EXPECT_TRUE(has(of({2.3417e-07, 2.175e-07, 2.0083e-07}, 20), "lr.falls_from_start"));
}

TEST(LearningRate, ASchedulerThatEndsBeforeTheRunIsToldWithItsShare) {
  auto lr = schedule(100, 5, 1e-4);
  lr.resize(160, 0.0);
  const auto symptoms = of(lr);
  EXPECT_EQ(find(symptoms, "lr.ends_early")->severity, core::Severity::warning);
  EXPECT_NEAR(number(find(symptoms, "lr.ends_early"), "share"), 0.375, 0.01);
}

TEST(LearningRate, AJumpUpAfterThePeakIsTold) {
  auto lr = schedule(200, 10, 1e-4);
  for (std::size_t i = 150; i < 200; ++i) lr[i] = 1e-4;
  EXPECT_GT(number(find(of(lr), "lr.jump"), "ratio"), 3);
  EXPECT_FALSE(has(of(schedule(200, 10, 1e-4)), "lr.jump"));
}

TEST(LearningRate, AJumpFarAboveAllBeforeIsAWarningAtOnce) {
  auto lr = schedule(200, 10, 1e-4);
  lr[120] = 3e-3;
  detectors::RunContext context;
  context.series_names = {"lr"};
  detection::DetectorBank bank(context);
  for (std::size_t i = 0; i <= 120; ++i) {
    EXPECT_FALSE(has(bank.so_far(), "lr.jump")) << i;
    const detectors::Reading reading{record::Role::lr, 0, lr[i], {}};
    bank.observe({static_cast<std::int64_t>(i), 0, {&reading, 1}});
  }
  ASSERT_TRUE(has(bank.so_far(), "lr.jump"));
  EXPECT_EQ(find(bank.so_far(), "lr.jump")->severity, core::Severity::warning);
  const auto whole = bank.finish();
  EXPECT_EQ(number(find(whole, "lr.jump"), "step"), 120);
}

TEST(LearningRate, AWarmupByRecordsAndARestartToThePeakAreNoWarning) {
  // One record at step 1, the next at step 100.
  EXPECT_FALSE(has(of({1e-7, 1e-5, 2e-5, 3e-5, 3e-5, 2.9e-5, 2.7e-5, 2.4e-5}), "lr.jump"));
  auto restarts = schedule(200, 10, 1e-4);
  for (std::size_t i = 150; i < 200; ++i) restarts[i] = 1e-4;
  const auto back = of(restarts);
  EXPECT_EQ(find(back, "lr.jump")->severity, core::Severity::note);
}

TEST(LearningRate, NaNIsLeftOut) {
  auto lr = schedule(200, 10, 1e-4);
  lr[50] = k_nan;
  EXPECT_FALSE(has(of(lr), "lr.jump"));
}

/// A schedule that is begun anew in the midst of its fall is another thing than one that restarts at
/// its end, and the loss tells whether it did harm.
TEST(LrSchedule, AJumpInMidCourseIsNoPlannedRestart) {
  for (const bool midst : {true, false}) {
    std::vector<double> lr;
    std::vector<double> loss;
    const int length = midst ? 160 : 120;  // of the cosine; it begins anew after 120 records
    for (int i = 0; i < 200; ++i) {
      lr.push_back(1e-4 + 1e-3 * (1 + std::cos(3.14159 * (i % 120) / length)));
      if (!midst) lr.back() -= 1e-4;
      loss.push_back(1.2 + std::exp(-i / 25.0) + 0.02 * std::sin(7.7 * i) +
                     (i >= 120 ? 0.4 * std::exp(-(i - 120) / 30.0) : 0));
    }
    const auto symptoms =
        RunOf().with("lr", record::Role::lr, lr).with("loss", record::Role::loss, loss).detect();
    const detectors::Symptom* jump = find(symptoms, "lr.jump");
    if (midst) {
      ASSERT_NE(jump, nullptr) << told(symptoms);
      EXPECT_TRUE(flag(jump, "mid_course"));
      EXPECT_TRUE(flag(jump, "loss_rises"));
    } else if (jump != nullptr) {
      EXPECT_FALSE(flag(jump, "mid_course"));
    }
  }
}

}  // namespace
}  // namespace aplomb::testing
