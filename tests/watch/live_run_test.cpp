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

/// So much at once that the reader cannot keep up: it sees whole lines alone, and of the last ones
/// all, once it has caught up.
TEST(LiveRun, LeavesOutWholeLinesWhereTheOutputIsTooMuchAndReadsOn) {
  LiveRun live(core::Severity::failed);
  std::string filler;
  for (int i = 0; filler.size() < (1U << 20U); ++i)
    filler += "step " + std::to_string(i) + " of the loader is ready\n";
  std::uint64_t fed = 0;
  while (live.left_out_bytes() < (8U << 20U) && fed < (std::uint64_t{4} << 30U)) {
    live.feed(filler.substr(0, 70'001));  // ends within a line
    live.feed(filler.substr(70'001));
    fed += filler.size();
  }
  EXPECT_GE(live.left_out_bytes(), 8U << 20U);
  for (int i = 0; i < 600; ++i) {  // until half is read, lines are left out
    const std::uint64_t before = live.left_out_bytes();
    live.feed("x\n");
    if (live.left_out_bytes() == before) break;
    std::this_thread::sleep_for(100ms);
  }
  for (int i = 0; i < 40; ++i)
    live.feed("{'loss': " + std::string(i < 30 ? "2.5" : "nan") + ", 'step': " + std::to_string(i) +
              "}\n");
  live.finish();
  EXPECT_EQ(live.gave_up(), "");
  EXPECT_FALSE(live.fresh().empty());
}

}  // namespace
}  // namespace aplomb::watch
