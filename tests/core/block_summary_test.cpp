#include "core/block_summary.h"

#include <gtest/gtest.h>

#include <random>

namespace aplomb::core {
namespace {

TEST(BlockSummary, KeepsShortSeriesSampleBySample) {
  BlockSummary summary;
  for (int i = 0; i < 20; ++i) summary.add(10 * i, 5.0 - 0.1 * i);
  ASSERT_EQ(summary.blocks().size(), 20U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_DOUBLE_EQ(summary.blocks()[static_cast<std::size_t>(i)].level(), 5.0 - 0.1 * i);
    EXPECT_EQ(summary.blocks()[static_cast<std::size_t>(i)].first_step, 10 * i);
  }
}

TEST(BlockSummary, CoversALongSeriesWithAtMost64BlocksAndLosesNoSample) {
  BlockSummary summary;
  for (int i = 0; i < 100000; ++i) summary.add(i, static_cast<double>(i));
  const auto blocks = summary.blocks();
  ASSERT_LE(blocks.size(), BlockSummary::k_blocks);
  ASSERT_GE(blocks.size(), BlockSummary::k_blocks / 2);
  std::int64_t next = 0;
  for (const Block& block : blocks) {
    EXPECT_EQ(block.first_step, next);
    EXPECT_NEAR(block.level(), 0.5 * static_cast<double>(block.first_step + block.last_step),
                0.15 * static_cast<double>(block.count));
    EXPECT_DOUBLE_EQ(block.least, static_cast<double>(block.first_step));
    EXPECT_DOUBLE_EQ(block.most, static_cast<double>(block.last_step));
    next = block.last_step + 1;
  }
  EXPECT_GE(next + static_cast<std::int64_t>(summary.width()) / 2, 100000);
}

TEST(BlockSummary, AWildSampleNeverShowsInALevelHoweverOftenBlocksMerge) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> noise(2.0, 0.05);
  BlockSummary summary;
  for (int i = 0; i < 5000; ++i) summary.add(i, i % 50 == 30 ? 1e15 : noise(engine));
  for (const Block& block : summary.blocks()) EXPECT_NEAR(block.level(), 2.0, 0.05);
}

}  // namespace
}  // namespace aplomb::core
