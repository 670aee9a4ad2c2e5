#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::read_table;

TEST(GpuMonitor, CardsThatHoldNothingAreNotOfTheRun) {
  expect_facts(
      "| NVIDIA-SMI 535.10                 Driver Version: 535.10    CUDA Version: 12.2     |\n"
      "|-------------------------------+----------------------+----------------------+\n"
      "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
      "|   0  Some Card           Off  | 00000000:05:00.0  On |                  N/A |\n"
      "| 30%   31C    P2   159W / 250W |  10000MiB / 12000MiB |     20%      Default |\n"
      "|   1  Some Card           Off  | 00000000:06:00.0 Off |                  N/A |\n"
      "| 30%   31C    P2   159W / 250W |   5000MiB / 12000MiB |     40%      Default |\n"
      "| 30%   31C    P8    10W / 250W |      7MiB / 12000MiB |      0%      Default |\n"
      "+-------------------------------+----------------------+----------------------+\n"
      "\n"
      "| 30%   31C    P8    10W / 250W |   9000MiB / 12000MiB |    100%      Default |\n",
      {{"monitor.gpu_percent", 30}, {"monitor.gpu_memory_uneven", 2}, {"monitor.gpus", 2}});
}

TEST(GpuMonitor, DmonPrintsARowASecond) {
  expect_facts(
      "# gpu   pwr gtemp mtemp    sm   mem   enc   dec\n"
      "# Idx     W     C     C     %     %     %     %\n"
      "    0    85    51     -    30    12     0     0\n"
      "    0    85    51     -    50    12     0     0\n"
      "done\n"
      "    0    85    51     -   100    12     0     0\n",
      {{"monitor.gpu_percent", 40}});
}

TEST(GpuMonitor, AnIdleMachineSaysNothing) {
  EXPECT_TRUE(
      read_table(
          "| NVIDIA-SMI 535.10      Driver Version: 535.10    CUDA Version: 12.2     |\n"
          "| 30%   31C    P8    10W / 250W |      7MiB / 12000MiB |      0%      Default |\n")
          .facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
