// Files that torch, safetensors, transformers and peft wrote just now, against the statistics that
// torch itself gives.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

using Json = nlohmann::json;

using test::expect_tensor;

void expect_every_tensor(const test::Folder& folder, const Json& expected) {
  std::size_t files = 0;
  for (const auto& [name, tensors] : expected.items()) {
    if (name.find("/optimizer") != std::string::npos) continue;
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(folder / name);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    for (const tensors::Finding& each : checkpoint->findings) {
      EXPECT_EQ(each.severity, core::Severity::note) << each.text;
    }
    EXPECT_EQ(checkpoint->tensors.size(), tensors.size());
    for (const auto& [tensor, want] : tensors.items()) {
      const tensors::Tensor* found = checkpoint->tensor(tensor);
      ASSERT_NE(found, nullptr) << tensor;
      expect_tensor(*found, want);
    }
    ++files;
  }
  EXPECT_GE(files, 12U);
}

void expect_states(const Checkpoint& checkpoint, const Json& expected, double step) {
  ASSERT_TRUE(checkpoint.optimizer.has_value());
  EXPECT_EQ(checkpoint.optimizer->tensors.size(), expected.size());
  for (const ParameterState& state : checkpoint.optimizer->states) EXPECT_EQ(state.step, step);
  for (const tensors::Tensor& tensor : checkpoint.optimizer->tensors) {
    ASSERT_TRUE(expected.contains(tensor.name)) << tensor.name;
    expect_tensor(tensor, expected[tensor.name]);
  }
}

void expect_optimizer(const test::Folder& folder, const Json& expected) {
  const auto checkpoint = open_checkpoint(folder / "checkpoint-3");
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  expect_states(*checkpoint, expected["checkpoint-3/optimizer"], 3);
  const OptimizerState& optimizer = *checkpoint->optimizer;
  ASSERT_EQ(optimizer.groups.size(), 2U);
  EXPECT_EQ(optimizer.groups[0].numbers.at("lr"), 2e-3);
  EXPECT_EQ(optimizer.groups[0].numbers.at("weight_decay"), 0.1);
  EXPECT_EQ(optimizer.groups[1].numbers.at("beta2"), 0.999);
  EXPECT_EQ(optimizer.groups[0].parameters, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 3);
  EXPECT_EQ(checkpoint->trainer_state.at("global_step"), 3);
  EXPECT_EQ(checkpoint->rng_ranks, (std::vector<int>{-1}));
  EXPECT_EQ(checkpoint->step(), 3);
}

/// Of transformers' Trainer, where transformers is installed.
void expect_trainer(const test::Folder& folder, const Json& expected) {
  if (!expected.contains("trained/checkpoint-2")) return;
  const auto checkpoint = open_checkpoint(folder / "trained/checkpoint-2");
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  expect_states(*checkpoint, expected["trained/checkpoint-2/optimizer"], 2);
  for (const FileRole role : {FileRole::weights, FileRole::optimizer, FileRole::scheduler,
                              FileRole::rng, FileRole::arguments, FileRole::config}) {
    const CheckpointFile* file = checkpoint->file(role);
    ASSERT_NE(file, nullptr) << static_cast<int>(role);
    EXPECT_TRUE(file->readable) << file->path;
  }
  EXPECT_EQ(checkpoint->step(), 2);
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 2);
  EXPECT_EQ(checkpoint->trainer_state.at("max_steps"), 2);
}

void expect_cuts_said(const test::Folder& folder) {
  for (const char* name : {"dtypes.pt", "legacy.pt", "dtypes.safetensors", "numpy4.pt"}) {
    SCOPED_TRACE(name);
    const std::string whole = test::content(folder / name);
    for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 97) {
      const std::string path = folder.write(fmt::format("cut/{}", name), whole.substr(0, cut));
      const auto checkpoint = open_checkpoint(path);
      if (checkpoint) {
        EXPECT_FALSE(checkpoint->findings.empty()) << "cut at " << cut;
        for (const tensors::Tensor& tensor : checkpoint->tensors) tensors::scan_tensor(tensor);
      }
    }
  }
}

// One test, so that the files are written once: CTest runs every test in a process of its own.
TEST(Fixtures, AreReadTensorForTensorAndSaidToBeCutWhereTheyAre) {
  const std::string python = test::python_with("torch, safetensors, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with torch and safetensors here";
  const test::Folder folder;
  ASSERT_TRUE(test::run_script(python, "make_fixtures.py", folder.path()));
  const Json expected = test::json_of(folder / "expected.json");
  expect_every_tensor(folder, expected);
  expect_optimizer(folder, expected);
  expect_trainer(folder, expected);
  expect_cuts_said(folder);
}

}  // namespace
}  // namespace aplomb::checkpoint
