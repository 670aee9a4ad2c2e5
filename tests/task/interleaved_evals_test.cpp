#include "task/interleaved_evals.h"

#include <gmock/gmock.h>

#include "record/run_builder.h"

namespace aplomb::task {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

record::Run run_of(const std::vector<std::pair<std::int64_t, double>>& evals) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  const record::SeriesId id = build.series(source, "eval_loss", "loss", record::Role::eval_loss,
                                           record::StepKind::explicit_);
  std::uint64_t line = 0;
  for (const auto& [step, value] : evals) {
    ++line;
    build.append(id, step, value, line, line * 40);
  }
  return run;
}

TEST(InterleavedEvals, BecomeTheirMeanAtEachStep) {
  record::Run run =
      run_of({{100, 0.2}, {100, 0.9}, {100, 1.3}, {220, 0.2}, {220, 0.5}, {220, 0.8}});
  merge_interleaved_evals(run);
  EXPECT_THAT(run.series[0].value, ElementsAre(DoubleNear(0.8, 1e-9), DoubleNear(0.5, 1e-9)));
  EXPECT_EQ(run.series[0].step[1], 220);
  EXPECT_EQ(run.series[0].line[1], 4U);
}

TEST(InterleavedEvals, WhatIsPrintedTwiceOrUnevenlyStays) {
  record::Run twice = run_of({{100, 0.7}, {100, 0.7001}, {200, 0.6}, {200, 0.6}});
  merge_interleaved_evals(twice);
  EXPECT_EQ(twice.series[0].size(), 4U);
  record::Run once = run_of({{100, 0.7}, {200, 0.6}, {200, 0.9}, {300, 0.5}});
  merge_interleaved_evals(once);
  EXPECT_EQ(once.series[0].size(), 4U);
}

}  // namespace
}  // namespace aplomb::task
