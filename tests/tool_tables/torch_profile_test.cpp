#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::fact_of;
using test::read_table;

constexpr std::string_view k_table =
    "some log line\n"
    "--------  ------------  ------------  ------------  ------------  ------------\n"
    "    Name    Self CPU %      Self CPU   CPU total %     Self CUDA   Self CUDA %\n"
    "--------  ------------  ------------  ------------  ------------  ------------\n"
    "enumerate(DataLoader)#_Multi...        60.00%       6.000s        62.00%       0.000us        "
    " 0.00%\n"
    "ampere_sgemm_128x64_tn         0.00%       0.000us         0.00%        3.0s        30.00%\n"
    "cutlass_80_simt_sgemm_64         0.00%       0.000us         0.00%        1.0s        10.50%\n"
    "ncclDevKernel_AllReduce(nccl)         0.00%       0.000us         0.00%        2.0s        "
    "20.00%\n"
    "cudaStreamSynchronize         7.00%       0.700s         7.00%       0.000us         0.00%\n"
    "cudaLaunchKernel         5.00%       0.500s         5.00%       0.000us         0.00%\n"
    "--------  ------------  ------------  ------------  ------------  ------------\n"
    "Self CPU time total: 10.0s\n"
    "cudaLaunchKernel         90.00%       0.500s         5.00%       0.000us         0.00%\n";

TEST(TorchProfile, SaysWhereHostAndCardSpendTheirTime) {
  const aplomb::record::Run run = read_table(k_table);
  EXPECT_NEAR(fact_of(run, "profile.loader_share"), 0.62, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.sgemm_share"), 0.405, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.nccl_share"), 0.20, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.sync_share"), 0.07, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.launch_share"), 0.05, 1e-9)
      << "what follows the table is no row";
}

TEST(TorchProfile, ATornRowKeepsWhatItHas) {
  const std::size_t tear = k_table.find("        30.00%");
  const aplomb::record::Run run = read_table(k_table.substr(0, tear));
  EXPECT_NEAR(fact_of(run, "profile.loader_share"), 0.62, 1e-9);
  EXPECT_NEAR(fact_of(run, "profile.sgemm_share"), 0, 1e-9);
}

TEST(TorchProfile, ATableWithoutADeviceSaysNothingOfTheCard) {
  expect_facts(
      "    Name    Self CPU %      Self CPU   CPU total %     CPU total\n"
      "aten::mm    90.00%   1.0s   90.00%   1.0s\n",
      {{"profile.loader_share", 0}, {"profile.sgemm_share", -1}});
}

TEST(TorchProfile, OrdinaryTextGivesNoFacts) {
  EXPECT_TRUE(read_table("the column Self CPU % stands in every table\nand  more   text  50%\n")
                  .facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
