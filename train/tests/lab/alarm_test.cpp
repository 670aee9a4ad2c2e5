#include "train/lab/alarm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;

Trace falling(std::int64_t steps) {
  Trace trace;
  trace.planned_steps = trace.steps = steps;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const double at = static_cast<double>(step);
    trace.samples.push_back({step, {{"loss", 5.5 / (1 + at / 40)}, {"grad_norm", 1.0}}});
  }
  return trace;
}

void set_loss(Trace& trace, std::int64_t step, double value) {
  trace.samples[static_cast<std::size_t>(step - 1)].values[0].second = value;
}

TEST(FirstAlarm, IsTheRecordThatShowsIt) {
  Trace trace = falling(60);
  set_loss(trace, 45, NAN);
  const auto alarm = first_alarm(trace, Style::own, core::Severity::warning);
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->step, 45);
  EXPECT_EQ(alarm->what, "loss.nonfinite");
}

TEST(FirstAlarm, WhatWasSaidBeforeTheFaultDoesNotCount) {
  Trace trace = falling(60);
  set_loss(trace, 12, NAN);
  EXPECT_EQ(first_alarm(trace, Style::own, core::Severity::warning)->step, 12);
  EXPECT_FALSE(first_alarm(trace, Style::own, core::Severity::warning, 40));
}

TEST(FirstAlarm, AnErrorThatEndsTheProgramIsOneWheneverItComes) {
  Trace trace = falling(20);
  trace.error = "RuntimeError: index out of range";
  const auto alarm = first_alarm(trace, Style::own, core::Severity::warning, 21);
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->what, "error");
}

class AlarmBefore : public ::testing::Test {
 protected:
  AlarmBefore() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::temp_directory_path() / (name + "-" + std::to_string(::getpid()));
  }
  ~AlarmBefore() override {
    std::error_code none;
    fs::remove_all(root_, none);
  }
  /// A folder with the settings of a run.
  std::string with(const std::string& name, const std::string& settings) {
    fs::create_directories(root_ / name);
    std::ofstream(root_ / name / "config.yaml")
        << "lr: 0.001\nmicro_batch_size: 8\nmax_steps: 1000\n"
        << settings;
    return (root_ / name).string();
  }

 private:
  fs::path root_;
};

TEST_F(AlarmBefore, IsAFindingThatLeadsToTheFault) {
  const std::string faulty = with("faulty", "weight_decay: 50\n");
  const std::string healthy = with("healthy", "weight_decay: 0.01\n");
  const auto alarm = alarm_before(faulty, healthy, {"stall.weight-decay-too-high"});
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->step, 0);
  EXPECT_EQ(alarm->what, "optimizer.weight-decay-high");
  EXPECT_GE(alarm->severity, core::Severity::warning);
}

TEST_F(AlarmBefore, AFindingAboutSomethingElseIsNoDetection) {
  const std::string faulty = with("faulty", "weight_decay: 50\n");
  const std::string healthy = with("healthy", "weight_decay: 0.01\n");
  EXPECT_FALSE(alarm_before(faulty, healthy, {"diverge.bad-batch"}));
}

TEST_F(AlarmBefore, AFindingAboutTheHealthyTwinAsWellIsNotAboutTheFault) {
  const std::string faulty = with("faulty", "weight_decay: 50\neps: 1.0\n");
  const std::string healthy = with("healthy", "weight_decay: 50\n");
  EXPECT_FALSE(alarm_before(faulty, healthy, {"stall.weight-decay-too-high"}));
  EXPECT_EQ(any_alarm_before(healthy)->what, "optimizer.weight-decay-high");
}

TEST_F(AlarmBefore, NoFilesSayNothing) {
  EXPECT_FALSE(alarm_before("/nonexistent/before", "", {"diverge.bad-batch"}));
  EXPECT_FALSE(any_alarm_before(with("plain", "")));
}

}  // namespace
}  // namespace aplomb::train::lab
