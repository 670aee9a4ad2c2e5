#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::fact_of;
using test::read_table;

TEST(HostMonitor, IostatsProcessorsAndDevices) {
  expect_facts(
      "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
      "           6.00    0.00    2.00   60.00    0.00   32.00\n"
      "\n"
      "Device            r/s     rkB/s  aqu-sz  %util\n"
      "sda            198.00  12480.00   11.52  98.50\n"
      "nvme0n1          0.00      0.00    0.00   0.10\n"
      "some words\n"
      "sdb            198.00  12480.00   11.52  100.00\n",
      {{"monitor.disk_percent", 98.5}, {"monitor.iowait_percent", 60}, {"monitor.cpu_percent", 8}});
}

TEST(HostMonitor, VmstatAndItsSwap) {
  const aplomb::record::Run run = read_table(
      "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
      " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
      " 1 14   9000 812344  10112 9911240   20  400 51200    12 3100 5200  5  3 31 61  0\n");
  EXPECT_NEAR(fact_of(run, "monitor.iowait_percent"), 61, 1e-9);
  EXPECT_NEAR(fact_of(run, "monitor.cpu_percent"), 8, 1e-9);
  ASSERT_FALSE(run.facts.empty());
  EXPECT_EQ(run.facts.back().name, "monitor.swapping");
  EXPECT_TRUE(core::is_true(run.facts.back().value));
}

TEST(HostMonitor, TopSaysAllInOneLine) {
  expect_facts("%Cpu(s): 97.0 us,  1.0 sy,  0.0 ni,  1.5 id,  0.5 wa,  0.0 hi,  0.0 si,  0.0 st\n",
               {{"monitor.cpu_percent", 98}});
}

TEST(HostMonitor, WordsAreNoTable) {
  EXPECT_TRUE(read_table("top shows high %iowait and my disk's %util is high\n").facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
