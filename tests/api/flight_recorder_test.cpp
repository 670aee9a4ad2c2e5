#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "aplomb/diagnose.h"

namespace aplomb::api {
namespace {

/// Real dumps of 16 ranks with faults injected into two of them, as their publisher names them.
void expect_absent(const std::string& name, const std::string& ranks) {
  const std::string folder = std::string(APLOMB_SOURCE_DIR) +
                             "/../shared/artefacts/flight-recorder/nvrx-fr_traces/" + name;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no dumps here: " << folder;
  const Report report = diagnose({folder}, {});
  ASSERT_FALSE(report.causes.empty());
  EXPECT_EQ(report.causes.front().id, "hang.dead-rank");
  bool named = false;
  for (const auto& cause : report.causes) {
    for (const auto& line : cause.evidence)
      named = named || line.text.find("rank " + ranks + ":") != std::string::npos ||
              line.text.find("rank " + ranks + " ") != std::string::npos;
  }
  EXPECT_TRUE(named || report.causes.front().because.find(ranks) != std::string::npos);
}

TEST(FlightRecorderDumps, TheRankWithTheFaultIsNamed) { expect_absent("gpu_error_1st", "12"); }

TEST(FlightRecorderDumps, TwoRanksThatNeverCameAreNamed) { expect_absent("lock_gil_1st", "9, 14"); }

}  // namespace
}  // namespace aplomb::api
