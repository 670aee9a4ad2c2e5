// Shards put together again: what DeepSpeed wrote (kept in data/), pieces of any form, and what
// happens when parts are missing. What torch writes: sharded_test.cpp.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "checkpoint/checkpoint.h"
#include "checkpoint/precision.h"
#include "checkpoint/tensor_pieces.h"
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
INSTANTIATE_TEST_SUITE_P(Shards, ZeroStages, ::testing::Values(1, 2, 3));

// One test, so that two ranks write once: CTest runs every test in a process of its own.
TEST(Shards, WhatDeepSpeedWritesJustNowIsReadAsItselfReadsIt) {
  const std::string python = test::python_with("torch, deepspeed, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with deepspeed here";
  const test::TempFolder folder;
  const std::string made = folder / "made";
  fs::create_directory(made);
  ASSERT_TRUE(test::run_script(python, "make_zero.py", made)) << made << ".said";
  for (const int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    expect_as_deepspeed(fs::path(made) / fmt::format("zero{}", stage));
  }
}

TEST(Shards, ARankOfZeroThatIsMissingIsSaid) {
  const test::TempFolder folder;
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

/// A tensor whose elements count up, cut into boxes.
std::vector<TensorPiece> boxes(const std::vector<std::int64_t>& shape,
                               const std::vector<std::vector<std::int64_t>>& offsets,
                               const std::vector<std::vector<std::int64_t>>& sizes,
                               std::vector<std::vector<float>>& held) {
  std::vector<TensorPiece> pieces;
  held.resize(offsets.size());
  for (std::size_t p = 0; p < offsets.size(); ++p) {
    for (std::int64_t i = 0; i < sizes[p][0]; ++i) {
      for (std::int64_t j = 0; j < sizes[p][1]; ++j) {
        held[p].push_back(static_cast<float>((offsets[p][0] + i) * shape[1] + offsets[p][1] + j));
      }
    }
    tensors::Tensor data;
    data.type = tensors::element_type("F32");
    data.count = held[p].size();
    data.mapped = false;
    data.bytes = std::as_bytes(std::span(held[p]));
    pieces.push_back({offsets[p], sizes[p], data, 0});
  }
  return pieces;
}

TEST(TensorPieces, AnyPartOfTheTensorComesOutInOrder) {
  std::vector<std::vector<float>> held;
  std::string why;
  const tensors::Tensor tensor = join_pieces(
      "w", {4, 6}, boxes({4, 6}, {{0, 0}, {0, 4}, {3, 0}}, {{3, 4}, {3, 2}, {1, 6}}, held), false,
      why);
  ASSERT_EQ(why, "");
  std::vector<float> want(24);
  std::iota(want.begin(), want.end(), 0.0F);
  for (std::uint64_t from = 0; from < 24; ++from) {
    for (std::uint64_t count = 1; from + count <= 24; ++count) {
      std::vector<float> got(count);
      ASSERT_TRUE(tensors::read_elements(tensor, from, std::span<float>(got)));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin() + static_cast<long>(from)));
    }
  }
}

TEST(TensorPieces, HolesOverlapsAndBoxesThatLeaveTheTensorAreRefused) {
  using Boxes = std::vector<std::vector<std::int64_t>>;
  const std::vector<std::pair<Boxes, Boxes>> bad = {
      {{{0, 0}}, {{3, 6}}},                  // a row is missing
      {{{0, 0}, {0, 0}}, {{4, 6}, {1, 6}}},  // one row twice
      {{{1, 0}}, {{4, 6}}},                  // beyond the end
  };
  for (const auto& each : bad) {
    std::vector<std::vector<float>> held;
    std::string why;
    const tensors::Tensor tensor =
        join_pieces("w", {4, 6}, boxes({4, 6}, each.first, each.second, held), false, why);
    EXPECT_NE(why, "");
    EXPECT_FALSE(tensor.has_data());
    EXPECT_FALSE(tensors::scan_tensor(tensor).has_value());
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
