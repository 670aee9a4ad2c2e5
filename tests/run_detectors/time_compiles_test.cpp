#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

constexpr double k_compiled = 0.006;
constexpr double k_compiling = 3.0;

std::vector<std::string> ids(const std::vector<double>& times) {
  std::vector<std::string> out;
  for (const auto& each : RunOf().with("step_time_s", record::Role::step_time_s, times).detect())
    out.push_back(each.id);
  return out;
}

bool compiles(const std::vector<double>& times) {
  const auto told = ids(times);
  return std::find(told.begin(), told.end(), "time.compiles") != told.end();
}

TEST(TimeCompiles, NewShapesThatBecomeRarerAreCompiledAnew) {
  std::vector<double> times(120, k_compiled);
  for (const std::size_t at : {0U, 1U, 2U, 4U, 7U, 11U, 16U, 25U, 40U, 75U})
    times[at] = k_compiling;
  const auto symptoms = RunOf().with("step_time_s", record::Role::step_time_s, times).detect();
  const detectors::Symptom* found = find(symptoms, "time.compiles");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_DOUBLE_EQ(number(found, "count"), 10);
  EXPECT_NEAR(number(found, "ratio"), 500, 1);
}

TEST(TimeCompiles, CheckpointsAtRegularDistancesAreNone) {
  std::vector<double> times(120, k_compiled);
  for (std::size_t at = 9; at < 120; at += 10) times[at] = k_compiling;
  EXPECT_FALSE(compiles(times));
}

TEST(TimeCompiles, NewShapesAtMostStepsAreCompiledAnew) {
  std::vector<double> times(18, k_compiling);
  for (const std::size_t at : {10U, 14U, 15U, 17U}) times[at] = k_compiled;
  EXPECT_TRUE(compiles(times));
  for (double& each : times) each = each == k_compiled ? 0.4 : each;
  EXPECT_FALSE(compiles(times)) << "batches of other sizes";
}

TEST(TimeCompiles, AFewSlowFirstStepsAreAWarmUp) {
  std::vector<double> times(120, 0.2);
  times[0] = 40;
  times[1] = 12;
  EXPECT_FALSE(compiles(times));
}

}  // namespace
}  // namespace aplomb::testing
