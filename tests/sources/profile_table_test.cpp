#include "sources/profile_table.h"

#include <gtest/gtest.h>

#include "sources/signatures.h"

namespace aplomb {
namespace {

aplomb::Run read(std::string_view text) {
  aplomb::Run run;
  RunBuilder build(run);
  const SourceId source = build.open("profile.txt", "text-log", text.size());
  SignatureMatcher matcher;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    matcher.line(text.substr(at, end - at), ++number, at, -1, build, source);
    at = end + 1;
  }
  matcher.finish(build, source);
  return run;
}

double fact(const aplomb::Run& run, std::string_view name) {
  for (const Fact& each : run.facts) {
    if (each.name == name && as_number(each.value) != nullptr) return *as_number(each.value);
  }
  return -1;
}

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

TEST(ProfileTable, SaysWhereHostAndCardSpendTheirTime) {
  const aplomb::Run run = read(k_table);
  EXPECT_NEAR(fact(run, "profile.loader_share"), 0.62, 1e-9);
  EXPECT_NEAR(fact(run, "profile.sgemm_share"), 0.405, 1e-9);
  EXPECT_NEAR(fact(run, "profile.nccl_share"), 0.20, 1e-9);
  EXPECT_NEAR(fact(run, "profile.sync_share"), 0.07, 1e-9);
  EXPECT_NEAR(fact(run, "profile.launch_share"), 0.05, 1e-9) << "what follows the table is no row";
}

TEST(ProfileTable, ATornRowKeepsWhatItHas) {
  const std::size_t tear = k_table.find("        30.00%");
  const aplomb::Run run = read(k_table.substr(0, tear));
  EXPECT_NEAR(fact(run, "profile.loader_share"), 0.62, 1e-9);
  EXPECT_NEAR(fact(run, "profile.sgemm_share"), 0, 1e-9);
}

TEST(ProfileTable, ATableWithoutADeviceSaysNothingOfTheCard) {
  const aplomb::Run run = read(
      "    Name    Self CPU %      Self CPU   CPU total %     CPU total\n"
      "aten::mm    90.00%   1.0s   90.00%   1.0s\n");
  EXPECT_EQ(fact(run, "profile.loader_share"), 0);
  EXPECT_EQ(fact(run, "profile.sgemm_share"), -1);
}

TEST(ProfileTable, OrdinaryTextGivesNoFacts) {
  EXPECT_TRUE(
      read("the column Self CPU % stands in every table\nand  more   text  50%\n").facts.empty());
}

TEST(TopologyTable, CountsHowTheCardsReachEachOther) {
  const aplomb::Run run = read(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
      "GPU0\t X \tPIX\tSYS\t0-11\n"
      "GPU1\tPIX\t X \tSYS\t0-11\n"
      "GPU2\tSYS\tSYS\t X \t12-23\n"
      "\n"
      "GPU3\tSYS\tSYS\t X \t12-23\n");
  EXPECT_EQ(fact(run, "topology.pcie_switch_pairs"), 1);
  EXPECT_EQ(fact(run, "topology.system_pairs"), 2);
  EXPECT_EQ(fact(run, "topology.nvlink_pairs"), 0);
}

}  // namespace
}  // namespace aplomb
