// The shards of DeepSpeed put together again: what it wrote (kept in data/), what it writes just
// now, and what happens when a rank is missing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/precision.h"
#include "core/folder.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

using test::expect_whole;
using test::json_of;

const fs::path k_data = APLOMB_SOURCE_DIR "/tests/checkpoint/data";

/// What DeepSpeed left below FOLDER (make_zero.py) is read as its own zero_to_fp32 reads it.
void expect_as_deepspeed(const fs::path& folder) {
  const auto checkpoint = open_checkpoint(folder.string());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  expect_whole(*checkpoint, json_of(folder / "expected.json"));
  ASSERT_EQ(checkpoint->optimizer->groups.size(), 2U);
  EXPECT_EQ(checkpoint->optimizer->groups[0].numbers.at("weight_decay"), 0.1);
  EXPECT_EQ(checkpoint->optimizer->groups[0].parameters.size(), 2U);
  EXPECT_EQ(checkpoint->step(), 3);
  // The weights that training goes on from are fp32: no update is lost.
  const Precision precision = predict_precision(*checkpoint);
  EXPECT_EQ(precision.tensors.size(), 5U);
  EXPECT_EQ(precision.frozen(), 0U);
}

class ZeroStages : public ::testing::TestWithParam<int> {};

TEST_P(ZeroStages, GiveEveryWeightAndMomentAsDeepSpeedItselfDoes) {
  expect_as_deepspeed(k_data / fmt::format("zero{}", GetParam()));
}
INSTANTIATE_TEST_SUITE_P(ZeroShards, ZeroStages, ::testing::Values(1, 2, 3),
                         ::testing::PrintToStringParamName());

// One test, so that two ranks write once: CTest runs every test in a process of its own.
TEST(ZeroShards, WhatDeepSpeedWritesJustNowIsReadAsItselfReadsIt) {
  const std::string python = test::python_with("torch, deepspeed, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with deepspeed here";
  const test::Folder folder;
  const std::string made = folder / "made";
  fs::create_directory(made);
  ASSERT_TRUE(test::run_script(python, "make_zero.py", made)) << made << ".said";
  for (const int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    expect_as_deepspeed(fs::path(made) / fmt::format("zero{}", stage));
  }
}

TEST(ZeroShards, ARankOfZeroThatIsMissingIsSaid) {
  const test::Folder folder;
  for (const char* stage : {"zero2", "zero3"}) {
    fs::copy(k_data / stage, folder / stage, fs::copy_options::recursive);
    for (const auto& each :
         fs::directory_iterator(folder / (std::string(stage) + "/global_step3"))) {
      const std::string name = each.path().filename().string();
      if (name.find("rank_1_") != std::string::npos && name.ends_with("optim_states.pt")) {
        fs::remove(each.path());
      }
    }
    const auto checkpoint = open_checkpoint(folder / stage);
    ASSERT_TRUE(checkpoint.has_value());
    ASSERT_FALSE(checkpoint->findings.empty());
    EXPECT_EQ(checkpoint->findings[0].kind, "checkpoint.incomplete");
    EXPECT_THAT(checkpoint->findings[0].text, HasSubstr("2 ranks wrote"));
    EXPECT_FALSE(checkpoint->optimizer.has_value());
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
