#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> times(std::size_t n, double from, double to, std::uint64_t seed = 1) {
  Draw draw(seed);
  return curve(
      n, [&](double i) { return from + (to - from) * i / static_cast<double>(n); },
      [&] { return 0.01 * from * draw.normal(); });
}

TEST(StepTime, StepsThatTakeLongerAndLongerAreADrift) {
  auto time = times(400, 0.4, 0.8);
  time[0] = 30;  // compilation
  const auto symptoms = RunOf().with("step_time_s", record::Role::step_time_s, time).detect();
  EXPECT_NEAR(number(find(symptoms, "time.drift"), "ratio"), 1.6, 0.2) << told(symptoms);
}

TEST(StepTime, ThroughputThatFallsIsADrop) {
  const auto symptoms =
      RunOf().with("tokens_per_s", record::Role::tokens_per_s, times(400, 9000, 5000)).detect();
  EXPECT_GT(number(find(symptoms, "throughput.drop"), "ratio"), 1.4);
}

TEST(StepTime, TheTimeSinceTheStartIsNoDrift) {
  const auto symptoms =
      RunOf().with("time", record::Role::step_time_s, times(400, 1, 400)).detect();
  EXPECT_FALSE(has(symptoms, "time.drift")) << told(symptoms);
}

TEST(StepTime, WaitingForDataIsAShareOfTheStep) {
  const auto symptoms =
      RunOf()
          .with("step_time_s", record::Role::step_time_s, std::vector<double>(20, 1.0))
          .with("data_time_s", record::Role::data_time_s, std::vector<double>(20, 0.6))
          .detect();
  EXPECT_DOUBLE_EQ(number(find(symptoms, "data.starved"), "share"), 0.6);
}

TEST(StepTime, IsSilentOnSteadyStepsWithCheckpointsAndNaN) {
  auto time = times(400, 0.4, 0.4);
  for (std::size_t i = 50; i < 400; i += 50) time[i] = 12;
  time[70] = k_nan;
  const auto symptoms =
      RunOf()
          .with("step_time_s", record::Role::step_time_s, time)
          .with("data_time_s", record::Role::data_time_s, std::vector<double>(400, 0.01))
          .detect();
  EXPECT_TRUE(symptoms.empty()) << told(symptoms);
}

}  // namespace
}  // namespace aplomb::testing
