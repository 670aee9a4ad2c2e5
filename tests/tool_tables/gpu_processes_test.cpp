#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;

TEST(GpuProcesses, CountsTheProcessesOfOtherCards) {
  expect_facts(
      "| Processes:                                          GPU Memory |\n"
      "|  GPU       PID   Type   Process name                Usage      |\n"
      "|=================================================================|\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    0       802      C   python3                         611MiB |\n"
      "|    0       803      C   python3                         611MiB |\n"
      "|    1       802      C   python3                        9000MiB |\n"
      "|    2       803      C   python3                        9000MiB |\n"
      "+-----------------------------------------------------------------+\n",
      {{"monitor.gpu_guests", 2}});
}

TEST(GpuProcesses, ReadsTheNewerColumnsAndCountsNoGraphics) {
  expect_facts(
      "| Processes:                                                                  |\n"
      "|    0   N/A  N/A      2001      G   /usr/lib/xorg/Xorg                 40MiB |\n"
      "|    1   N/A  N/A      2001      G   /usr/lib/xorg/Xorg                  4MiB |\n"
      "|    0   N/A  N/A      4001      C   /opt/env/bin/python3.11         7000MiB |\n"
      "|    1   N/A  N/A      4002      C   /opt/env/bin/python3.11         7000MiB |\n"
      "|    0   N/A  N/A      4002      C   /opt/env/bin/python3.11          420MiB |\n",
      {{"monitor.gpu_guests", 1}});
}

TEST(GpuProcesses, ReadsATableThatWasCutOff) {
  expect_facts(
      "| Processes:                                          GPU Memory |\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    0       802      C   python3                         611MiB |\n"
      "|    1       802      C   pyth\n",
      {{"monitor.gpu_guests", 1}});
}

TEST(GpuProcesses, AProcessOverSeveralCardsIsNobodysGuest) {
  expect_facts(
      "| Processes:                                          GPU Memory |\n"
      "|    0       801      C   python3                        9000MiB |\n"
      "|    1       801      C   python3                        8000MiB |\n",
      {{"monitor.gpu_guests", 0}});
}

}  // namespace
}  // namespace aplomb::tool_tables
