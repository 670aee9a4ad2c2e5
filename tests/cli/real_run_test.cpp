// The frozen-norm run for real: a tiny Llama is trained here, with weights cast to bf16 and with
// fp32 weights, and what aplomb says from the first checkpoint alone is held against what happened
// over the 200 steps behind it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoint/made_checkpoints.h"
#include "checkpoint/precision.h"
#include "checkpoint/tensor_diff.h"
#include "checkpoint/with_python.h"
#include "cli/program.h"

namespace aplomb::cli {
namespace {

using Json = nlohmann::json;
using Names = std::set<std::string>;
using ::testing::HasSubstr;

Names frozen_between(const std::string& run, std::size_t& all) {
  const auto before = checkpoint::open_checkpoint(run + "/checkpoint-200");
  const auto after = checkpoint::open_checkpoint(run + "/checkpoint-400");
  Names names;
  if (!before || !after) return names;
  const checkpoint::CheckpointDiff diff = checkpoint::diff_checkpoints(*before, *after);
  all = diff.tensors.size();
  for (const checkpoint::TensorDiff& each : diff.tensors) {
    if (each.frozen()) names.insert(each.name);
  }
  return names;
}

Names predicted(const std::string& run) {
  const auto checkpoint = checkpoint::open_checkpoint(run + "/checkpoint-200");
  Names names;
  if (!checkpoint) return names;
  for (const checkpoint::TensorPrecision& each :
       checkpoint::predict_precision(*checkpoint).tensors) {
    if (each.stays()) names.insert(each.name);
  }
  return names;
}

Json report_of(const std::string& line) {
  return Json::parse(test::run_program(line).out, nullptr, false);
}

bool has_symptom(const Json& report, const std::string& id) {
  for (const Json& each : report["symptoms"]) {
    if (each["id"] == id) return true;
  }
  return false;
}

TEST(RealRun, IsPredictedFromOneCheckpointAndDiagnosedFromTwo) {
  const std::string python = test::python_with("torch, transformers, accelerate, safetensors");
  if (python.empty()) GTEST_SKIP() << "no Python with torch and transformers here";
  const test::Folder folder;
  ASSERT_TRUE(test::run_script(python, "train_tiny_llama.py", folder / "runs"));
  Json moved;
  std::ifstream(folder / "runs/moved.json") >> moved;
  const std::string bf16 = folder / "runs/bf16";
  const std::string fp32 = folder / "runs/fp32";

  // What happened, by torch.equal and by us.
  const auto happened = moved["bf16"]["frozen"].get<Names>();
  std::size_t all = 0;
  EXPECT_EQ(frozen_between(bf16, all), happened);
  EXPECT_EQ(all, moved["bf16"]["all"].size());
  ASSERT_FALSE(happened.empty()) << "the run moved every tensor: it proves nothing";

  // What one checkpoint says of the 200 steps behind it.
  const Names forecast = predicted(bf16);
  std::size_t right = 0;
  for (const std::string& each : forecast) right += happened.count(each);
  EXPECT_EQ(right, happened.size()) << "recall is below 1";
  EXPECT_GE(static_cast<double>(right), 0.95 * static_cast<double>(forecast.size()));

  const Json diff =
      report_of("% ckpt diff --json " + bf16 + "/checkpoint-200 " + bf16 + "/checkpoint-400");
  EXPECT_TRUE(has_symptom(diff, "tensor.frozen"));
  EXPECT_EQ(diff["causes"][0]["id"], "stall.bf16-update-underflow");
  const Json precision = report_of("% ckpt precision --json " + bf16 + "/checkpoint-200");
  EXPECT_TRUE(has_symptom(precision, "tensor.updates_lost"));
  EXPECT_EQ(precision["causes"][0]["id"], "stall.bf16-update-underflow");
  const Json whole = report_of("% diagnose --json " + bf16);
  ASSERT_FALSE(whole["causes"].empty());
  EXPECT_EQ(whole["causes"][0]["id"], "stall.bf16-update-underflow");

  // The fix: the same run with fp32 weights.
  EXPECT_TRUE(moved["fp32"]["frozen"].empty());
  EXPECT_EQ(frozen_between(fp32, all), Names());
  EXPECT_EQ(predicted(fp32), Names());
  EXPECT_THAT(
      test::run_program("% ckpt diff " + fp32 + "/checkpoint-200 " + fp32 + "/checkpoint-400").out,
      HasSubstr("20 of 20 tensors moved"));
  EXPECT_EQ(report_of("% diagnose --json " + fp32)["verdict"], "healthy");
}

}  // namespace
}  // namespace aplomb::cli
