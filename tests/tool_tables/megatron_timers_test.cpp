#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::fact_of;
using test::read_table;

TEST(MegatronTimers, TheLongestRankCounts) {
  const aplomb::record::Run run = read_table(
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (500.00, 600.00)\n"
      "    forward-compute ................................: (100.00, 200.00)\n"
      "    batch-generator ................................: (40.00, 100.00)\n"
      "    grads-reduce-scatter ...........................: (210.00, 300.00)\n"
      "    optimizer ......................................: (90.00, 100.00)\n"
      " iteration 20/ 100 | lm loss: 2.1\n"
      "    optimizer ......................................: (90.00, 1000.00)\n");
  EXPECT_NEAR(fact_of(run, "profile.nccl_share"), 0.3, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.loader_share"), 0.1, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.optimizer_share"), 0.1, 1e-9);
}

TEST(MegatronTimers, OneNumberARow) {
  const aplomb::record::Run run = read_table(
      "max time across ranks (ms):\n"
      "    forward-backward ...............................: 700.00\n"
      "    params-all-gather ..............................: 300.00\n");
  EXPECT_NEAR(fact_of(run, "profile.nccl_share"), 0.3, 1e-9);
}

}  // namespace
}  // namespace aplomb::tool_tables
