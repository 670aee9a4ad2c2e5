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
  std::vector<std::string> found;
  const auto seen = [&] { return std::count(found.begin(), found.end(), "loss.nonfinite") > 0; };
  for (int i = 0; i < 200 && !seen(); ++i) {
    std::this_thread::sleep_for(20ms);
    for (const std::string& each : ids(live.fresh())) found.push_back(each);
  }
  EXPECT_TRUE(seen());
  live.feed(line(52, "nan"));
  live.finish();
  EXPECT_THAT(ids(live.fresh()), ::testing::Not(::testing::Contains("loss.nonfinite")));
  EXPECT_EQ(live.gave_up(), "");
}

TEST(LiveRun, SaysThatGradientNormsStayWithoutValue) {
  std::string log;
  for (int step = 0; step < 20; ++step)
    log += "{'loss': 2.1, 'grad_norm': " + std::string(step < 6 ? "0.9" : "nan") +
           ", 'learning_rate': 2e-05, 'epoch': " + std::to_string(0.01 * step) + "}\n";
  LiveRun live(core::Severity::unstable);
  live.feed(log);
  live.finish();
  const std::vector<detectors::Symptom> found = live.fresh();
  EXPECT_THAT(ids(found), ::testing::Contains("gate.first_ten"));
  const auto norm = std::find_if(found.begin(), found.end(), [](const detectors::Symptom& each) {
    return each.id == "grad_norm.nonfinite";
  });
  ASSERT_NE(norm, found.end());
  EXPECT_EQ(norm->severity, core::Severity::failed);
}

TEST(LiveRun, OfAHealthyRunSaysOnlyThatItsStartPassesCutAnywhere) {
  const std::string log = falling(0, 120);
  LiveRun live(core::Severity::unstable);
  for (std::size_t at = 0; at < log.size(); at += 37) live.feed(log.substr(at, 37));
  live.finish();
  EXPECT_THAT(ids(live.fresh()), ::testing::ElementsAre("gate.first_ten"));
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
