#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;

TEST(MemorySummary, TellsHowMuchOfWhatIsHeldIsInUse) {
  expect_facts(
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
      "| Allocated memory      |  12000 MiB |   7864 MiB |  10461 MiB |   2598 MiB |\n",
      {{"oom.slack_share", 0.75}, {"oom.retries", 3}});
}

TEST(MemorySummary, ATornOneSaysWhatItHolds) {
  expect_facts(
      "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
      "|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n"
      "| Allocated memory      |   3000 MiB |\n",
      {{"oom.slack_share", -1}, {"oom.retries", 3}});
}

}  // namespace
}  // namespace aplomb::tool_tables
