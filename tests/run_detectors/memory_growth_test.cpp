#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

TEST(MemoryGrowth, AnEverGrowingSeriesIsALeak) {
  std::vector<double> memory;
  for (int i = 0; i < 200; ++i) memory.push_back(20e9 + 5e7 * i);
  const auto symptoms = RunOf().with("memory_bytes", record::Role::memory_bytes, memory).detect();
  const detectors::Symptom* found = find(symptoms, "memory.growth");
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(number(found, "slope"), 5e7, 5e6);
  EXPECT_GT(number(found, "ratio"), 1.3);
}

TEST(MemoryGrowth, APeakThatSettlesIsNone) {
  std::vector<double> memory;
  for (int i = 0; i < 200; ++i) memory.push_back(40e9 - 25e9 * std::exp(-i / 10.0));
  EXPECT_TRUE(RunOf().with("memory_bytes", record::Role::memory_bytes, memory).detect().empty());
}

TEST(MemoryGrowth, ChangingBatchesAndNaNAreNone) {
  Draw draw(1);
  auto memory = curve(200, [](double) { return 30e9; }, [&] { return 4e9 * draw.normal(); });
  memory[50] = k_nan;
  EXPECT_TRUE(RunOf().with("memory_bytes", record::Role::memory_bytes, memory).detect().empty());
}

TEST(MemoryGrowth, WhereItGrowsInEvaluationAlone) {
  const auto grown = [](bool in_training) {
    RunOf run;
    for (int i = 0; i < 10; ++i) {
      run.at("loss", record::Role::loss, i, 1.0 / (1 + i));
      run.at("memory_bytes", record::Role::memory_bytes, i,
             5e8 + (in_training ? 1e8 * i : 1e6 * i));
    }
    for (int i = 0; i < 10; ++i)
      run.at("memory_bytes", record::Role::memory_bytes, 10 + i,
             (in_training ? 1.5e9 : 5.5e8) + 1e8 * i);
    return run.detect();
  };
  const auto in_evaluation = grown(false);
  const auto throughout = grown(true);
  ASSERT_TRUE(has(in_evaluation, "memory.growth")) << told(in_evaluation);
  EXPECT_TRUE(flag(find(in_evaluation, "memory.growth"), "in_eval"));
  EXPECT_FALSE(flag(find(throughout, "memory.growth"), "in_eval"));
}

TEST(MemoryGrowth, HostMemoryIsWatchedToo) {
  std::vector<double> memory;
  for (int i = 0; i < 50; ++i) memory.push_back(8e9 + 1e9 * i);
  const auto symptoms = RunOf().with("host", record::Role::host_memory_bytes, memory).detect();
  EXPECT_TRUE(flag(find(symptoms, "memory.growth"), "host"));
}

}  // namespace
}  // namespace aplomb::testing
