#include "watch/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace aplomb::watch {
namespace {

using namespace std::chrono_literals;

std::string line(int step, const std::string& loss) {
  return "{'loss': " + loss +
         ", 'grad_norm': 1.1, 'learning_rate': 1e-05, 'step': " + std::to_string(step) + "}\n";
}

std::string falling(int from, int to) {
  std::string log;
  for (int step = from; step < to; ++step) log += line(step, std::to_string(3.0 - 0.01 * step));
  return log;
}

std::vector<std::string> ids(const std::vector<detectors::Symptom>& symptoms) {
  std::vector<std::string> found;
  for (const detectors::Symptom& each : symptoms) found.push_back(each.id);
  return found;
}

TEST(LiveRun, SaysWhatItSeesWhileTheRunGoesOn) {
  LiveRun live(core::Severity::unstable);
  live.feed(falling(0, 50));
  live.feed(line(50, "nan") + line(51, "nan"));
  std::vector<detectors::Symptom> found;
  for (int i = 0; i < 200 && found.empty(); ++i) {
    std::this_thread::sleep_for(20ms);
    found = live.fresh();
  }
  EXPECT_THAT(ids(found), ::testing::Contains("loss.nonfinite"));
  live.feed(line(52, "nan"));
  live.finish();
  EXPECT_THAT(ids(live.fresh()), ::testing::Not(::testing::Contains("loss.nonfinite")));
  EXPECT_EQ(live.gave_up(), "");
}

TEST(LiveRun, IsSilentOnAHealthyRunCutAnywhere) {
  const std::string log = falling(0, 120);
  LiveRun live(core::Severity::unstable);
  for (std::size_t at = 0; at < log.size(); at += 37) live.feed(log.substr(at, 37));
  live.finish();
  EXPECT_THAT(ids(live.fresh()), ::testing::IsEmpty());
}

TEST(LiveRun, KnowsThePace) {
  LiveRun live(core::Severity::failed);
  EXPECT_FALSE(live.pace());
  for (int step = 0; step < 12; ++step) {
    live.feed(line(step, "2.0"));
    std::this_thread::sleep_for(20ms);
  }
  live.finish();
  const auto pace = live.pace();
  ASSERT_TRUE(pace);
  EXPECT_GT(pace->median.count(), 0.01);
  EXPECT_LT(pace->median.count(), 2.0);
}

TEST(LiveRun, GivesUpWhereTheOutputIsTooMuch) {
  LiveRun live(core::Severity::failed);
  live.feed(std::string(LiveRun::k_most_waiting + 1, 'x'));
  live.feed("more");
  live.finish();
  EXPECT_THAT(live.gave_up(), ::testing::HasSubstr("faster"));
}

}  // namespace
}  // namespace aplomb::watch
