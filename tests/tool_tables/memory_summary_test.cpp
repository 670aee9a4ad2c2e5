#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::fact_of;
using test::read_table;

TEST(MemorySummary, TellsHowMuchOfWhatIsHeldIsInUse) {
  const aplomb::record::Run run = read_table(
      "|===========================================================================|\n"
      "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
      "|---------------------------------------------------------------------------|\n"
      "|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n"
      "|===========================================================================|\n"
      "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
      "|---------------------------------------------------------------------------|\n"
      "| Allocated memory      |   3000 MiB |   7864 MiB |  10461 MiB |   2598 MiB |\n"
      "|       from large pool |   2900 MiB |   7802 MiB |  10300 MiB |   2500 MiB |\n"
      "| GPU reserved memory   |  12000 MiB |  14000 MiB |  14000 MiB |      0 B   |\n"
      "and then\n"
      "| Allocated memory      |  12000 MiB |   7864 MiB |  10461 MiB |   2598 MiB |\n");
  EXPECT_NEAR(fact_of(run, "oom.slack_share"), 0.75, 1e-9);
  EXPECT_EQ(fact_of(run, "oom.retries"), 3);
}

TEST(MemorySummary, ATornOneSaysWhatItHolds) {
  const aplomb::record::Run run = read_table(
      "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
      "|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n"
      "| Allocated memory      |   3000 MiB |\n");
  EXPECT_EQ(fact_of(run, "oom.slack_share"), -1);
  EXPECT_EQ(fact_of(run, "oom.retries"), 3);
}

}  // namespace
}  // namespace aplomb::tool_tables
