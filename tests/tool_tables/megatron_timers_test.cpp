#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;

TEST(MegatronTimers, TheLongestRankCounts) {
  expect_facts(
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (500.00, 600.00)\n"
      "    forward-compute ................................: (100.00, 200.00)\n"
      "    batch-generator ................................: (40.00, 100.00)\n"
      "    grads-reduce-scatter ...........................: (210.00, 300.00)\n"
      "    optimizer ......................................: (90.00, 100.00)\n"
      " iteration 20/ 100 | lm loss: 2.1\n"
      "    optimizer ......................................: (90.00, 1000.00)\n",
      {{"profile.nccl_share", 0.3},
       {"profile.loader_share", 0.1},
       {"profile.optimizer_share", 0.1}});
}

TEST(MegatronTimers, OneNumberARow) {
  expect_facts(
      "max time across ranks (ms):\n"
      "    forward-backward ...............................: 700.00\n"
      "    params-all-gather ..............................: 300.00\n",
      {{"profile.nccl_share", 0.3}});
}

}  // namespace
}  // namespace aplomb::tool_tables
