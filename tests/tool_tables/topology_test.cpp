#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;

TEST(Topology, CountsHowTheCardsReachEachOther) {
  expect_facts(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
      "GPU0\t X \tPIX\tSYS\t0-11\n"
      "GPU1\tPIX\t X \tSYS\t0-11\n"
      "GPU2\tSYS\tSYS\t X \t12-23\n"
      "\n"
      "GPU3\tSYS\tSYS\t X \t12-23\n",
      {{"topology.pcie_switch_pairs", 1},
       {"topology.system_pairs", 2},
       {"topology.nvlink_pairs", 0}});
}

}  // namespace
}  // namespace aplomb::tool_tables
