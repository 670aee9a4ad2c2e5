#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::read_table;

TEST(NsysKernels, CollectivesAndFp32ProductsOfTheCard) {
  expect_facts(
      " Time (%)  Total Time (ns)  Instances  Avg (ns)  Name\n"
      " --------  ---------------  ---------  --------  ----------------\n"
      "     33.5        277809887       4048   68628.9  "
      "ncclDevKernel_AllReduce_Sum_f16_RING_LL(int)\n"
      "     24.0        203015590       4040   50251.4  ampere_sgemm_128x64_tn\n"
      "     20.5        174549284       4040   43205.3  elementwise_kernel\n"
      "\n"
      "     99.0        174549284       4040   43205.3  ampere_sgemm_128x64_tn\n",
      {{"profile.nccl_share", 0.335}, {"profile.sgemm_share", 0.24}});
}

TEST(NsysKernels, ApiCallsAreNoKernels) {
  EXPECT_TRUE(read_table(" Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Name\n"
                         "     90.0        277809887       4048   68628.9  cudaStreamSynchronize\n")
                  .facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
