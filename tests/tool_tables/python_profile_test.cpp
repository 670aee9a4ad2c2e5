#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::read_table;

TEST(PythonProfile, PstatsWaitsForALoaderAreItsLargestRow) {
  expect_facts(
      "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "        1    0.500    0.500  200.000  200.000 train.py:10(main)\n"
      "      500    0.010    0.000  150.000    0.300 dataloader.py:625(__next__)\n"
      "    600/2    0.010    0.000  149.000    0.250 dataloader.py:1282(_get_data)\n"
      "      500   10.000    0.020   10.000    0.020 {method 'item' of 'torch._C.TensorBase' "
      "objects}\n"
      "      500    6.000    0.012    6.000    0.012 {method 'cpu' of 'torch._C.TensorBase' "
      "objects}\n"
      "\n"
      "        1    0.500    0.500 2000.000  200.000 dataloader.py:10(main)\n",
      {{"profile.loader_share", 0.75}, {"profile.sync_share", 0.08}});
}

TEST(PythonProfile, PySpyTopCountsPercentages) {
  expect_facts(
      "  %Own   %Total  OwnTime  TotalTime  Function (filename)\n"
      " 62.00%  62.00%   12.30s    12.30s   _local_scalar_dense (model.py:40)\n"
      " 10.00%  20.00%    2.30s     4.00s   _get_data (torch/utils/data/dataloader.py:1163)\n",
      {{"profile.sync_share", 0.62}, {"profile.loader_share", 0.20}});
}

TEST(PythonProfile, LineProfilerNamesTheLine) {
  expect_facts(
      "Line #      Hits         Time  Per Hit   % Time  Line Contents\n"
      "==============================================================\n"
      "    10                                           def train(loader):\n"
      "    11       101      80000.0    800.0     20.0      for x in loader:\n"
      "    12       100     280000.0   2800.0     70.0          total += loss.item()\n",
      {{"profile.sync_share", 0.70}, {"profile.loader_share", 0.20}});
}

TEST(PythonProfile, ProseWithTheColumnsNamesIsNoTable) {
  EXPECT_TRUE(read_table("I sorted by tottime  percall and saw nothing\n").facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
