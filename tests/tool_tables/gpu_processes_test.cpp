#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::fact_of;
using test::read_table;

TEST(GpuProcesses, CountsTheProcessesOfOtherCards) {
  const aplomb::record::Run run = read_table(
      "| Processes:                                          GPU Memory |\n"
      "|  GPU       PID   Type   Process name                Usage      |\n"
      "|=================================================================|\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    0       802      C   python3                         611MiB |\n"
      "|    0       803      C   python3                         611MiB |\n"
      "|    1       802      C   python3                        9000MiB |\n"
      "|    2       803      C   python3                        9000MiB |\n"
      "+-----------------------------------------------------------------+\n");
  EXPECT_EQ(fact_of(run, "monitor.gpu_guests"), 2);
}

TEST(GpuProcesses, ReadsTheNewerColumnsAndCountsNoGraphics) {
  const aplomb::record::Run run = read_table(
      "| Processes:                                                                  |\n"
      "|    0   N/A  N/A      2001      G   /usr/lib/xorg/Xorg                 40MiB |\n"
      "|    1   N/A  N/A      2001      G   /usr/lib/xorg/Xorg                  4MiB |\n"
      "|    0   N/A  N/A      4001      C   /opt/env/bin/python3.11         7000MiB |\n"
      "|    1   N/A  N/A      4002      C   /opt/env/bin/python3.11         7000MiB |\n"
      "|    0   N/A  N/A      4002      C   /opt/env/bin/python3.11          420MiB |\n");
  EXPECT_EQ(fact_of(run, "monitor.gpu_guests"), 1);
}

TEST(GpuProcesses, ReadsATableThatWasCutOff) {
  const aplomb::record::Run run = read_table(
      "| Processes:                                          GPU Memory |\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    0       802      C   python3                         611MiB |\n"
      "|    1       802      C   pyth\n");
  EXPECT_EQ(fact_of(run, "monitor.gpu_guests"), 1);
}

TEST(GpuProcesses, AProcessOverSeveralCardsIsNobodysGuest) {
  const aplomb::record::Run run = read_table(
      "| Processes:                                          GPU Memory |\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    1       801      C   python3                        8000MiB |\n");
  EXPECT_EQ(fact_of(run, "monitor.gpu_guests"), 0);
}

}  // namespace
}  // namespace aplomb::tool_tables
