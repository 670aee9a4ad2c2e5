#include "live/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "record/run_builder.h"

namespace aplomb::live {
namespace {

record::Series series_of(const std::vector<Later>& samples) {
  record::Run run;
  record::RunBuilder build(run);
  const auto source = build.open("train.log", "text-log", 0);
  const auto loss =
      build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (const Later& each : samples) build.append(loss, each.step, each.value, 0, 0);
  return run.series[0];
}

TEST(Buckets, FewSamplesComeAsTheyAre) {
  const Buckets got = buckets_of(series_of({{1, 2.5}, {2, 2.0}}), {{3, 1.5}}, {}, {}, 10);
  EXPECT_EQ(got.steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(got.min, (std::vector<double>{2.5, 2.0, 1.5}));
  EXPECT_EQ(got.max, got.min);
  EXPECT_TRUE(got.exact);
}

TEST(Buckets, NoSpikeIsLostAtAnyWidth) {
  std::mt19937 random(7);
  for (const std::size_t most : {1U, 2U, 7U, 100U, 999U}) {
    std::vector<Later> samples;
    for (int i = 0; i < 5000; ++i)
      samples.push_back({i, 1.0 + 1e-3 * static_cast<double>(random() % 100)});
    samples[random() % 5000].value = 50;
    samples[random() % 5000].value = -50;
    const Buckets got = buckets_of(series_of(samples), {}, {}, {}, most);
    EXPECT_LE(got.steps.size(), most);
    EXPECT_EQ(*std::max_element(got.max.begin(), got.max.end()), 50) << most;
    EXPECT_EQ(*std::min_element(got.min.begin(), got.min.end()), -50) << most;
    EXPECT_FALSE(got.exact);
  }
}

TEST(Buckets, WhatIsNotFiniteIsTheMaximumOfItsBucket) {
  std::vector<Later> samples;
  for (int i = 0; i < 100; ++i) samples.push_back({i, 1.0});
  samples[42].value = std::nan("");
  const Buckets got = buckets_of(series_of(samples), {}, {}, {}, 4);
  ASSERT_EQ(got.steps.size(), 4U);
  EXPECT_TRUE(std::isnan(got.max[1]));
  EXPECT_EQ(got.min[1], 1.0);
  EXPECT_EQ(got.max[0], 1.0);
}

TEST(Buckets, BothEndsOfARangeCountIn) {
  std::vector<Later> samples;
  for (int i = 0; i < 100; ++i) samples.push_back({i, 1.0 * i});
  const Buckets got = buckets_of(series_of(samples), {}, 10, 20, 100);
  EXPECT_EQ(got.steps.front(), 10);
  EXPECT_EQ(got.steps.back(), 20);
  EXPECT_EQ(got.steps.size(), 11U);
}

TEST(Buckets, ABucketEndsWhereStepsGoBack) {
  const Buckets got = buckets_of(
      series_of({{0, 1}, {1, 1}, {2, 1}, {3, 9}, {1, 5}, {2, 5}, {3, 5}}), {}, {}, {}, 2);
  EXPECT_EQ(got.steps, (std::vector<std::int64_t>{0, 2, 1, 2}));
}

TEST(Buckets, NothingInTheRangeIsNothing) {
  EXPECT_TRUE(buckets_of(series_of({{1, 1}}), {}, 5, 9, 10).steps.empty());
}

}  // namespace
}  // namespace aplomb::live
