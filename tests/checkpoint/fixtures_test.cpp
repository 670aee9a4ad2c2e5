// Files that torch, safetensors, transformers and peft wrote just now, against the statistics that
// torch itself gives.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb {
namespace {

using Json = nlohmann::json;

class Fixtures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string python = test::python_with("torch, safetensors, numpy");
    if (python.empty()) return;
    folder_ = new test::TempFolder;
    made_ = test::run_script(python, "make_fixtures.py", folder_->path());
    std::ifstream(*folder_ / "expected.json") >> expected_;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "no Python with torch and safetensors here";
    ASSERT_TRUE(made_) << "make_fixtures.py failed";
  }

  static test::TempFolder* folder_;
  static bool made_;
  static Json expected_;
};
test::TempFolder* Fixtures::folder_ = nullptr;
bool Fixtures::made_ = false;
Json Fixtures::expected_;

using test::expect_tensor;

TEST_F(Fixtures, EveryTensorOfEveryFileIsReadAsTorchHasIt) {
  std::size_t files = 0;
  for (const auto& [name, tensors] : expected_.items()) {
    if (name.find("/optimizer") != std::string::npos) continue;
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(*folder_ / name);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    for (const Finding& each : checkpoint->findings) {
      EXPECT_EQ(each.severity, Severity::note) << each.text;
    }
    EXPECT_EQ(checkpoint->tensors.size(), tensors.size());
    for (const auto& [tensor, want] : tensors.items()) {
      const Tensor* found = checkpoint->tensor(tensor);
      ASSERT_NE(found, nullptr) << tensor;
      expect_tensor(*found, want);
    }
    ++files;
  }
  EXPECT_GE(files, 12U);
}

TEST_F(Fixtures, TheOptimizersStateAndGroupsAreRead) {
  const auto checkpoint = open_checkpoint(*folder_ / "checkpoint-3");
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  ASSERT_TRUE(checkpoint->optimizer.has_value());
  const OptimizerState& optimizer = *checkpoint->optimizer;
  ASSERT_EQ(optimizer.groups.size(), 2U);
  EXPECT_EQ(optimizer.groups[0].numbers.at("lr"), 2e-3);
  EXPECT_EQ(optimizer.groups[0].numbers.at("weight_decay"), 0.1);
  EXPECT_EQ(optimizer.groups[1].numbers.at("beta2"), 0.999);
  EXPECT_EQ(optimizer.groups[0].parameters, (std::vector<std::int64_t>{0, 1}));
  ASSERT_EQ(optimizer.states.size(), 6U);
  for (const ParameterState& state : optimizer.states) {
    EXPECT_EQ(state.step, 3.0);
    for (const auto& [key, at] : state.tensors) {
      const Tensor& tensor = optimizer.tensors[at];
      expect_tensor(tensor, expected_["checkpoint-3/optimizer"][tensor.name]);
    }
  }
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 3);
  EXPECT_EQ(checkpoint->trainer_state.at("global_step"), 3);
  EXPECT_EQ(checkpoint->rng_ranks, (std::vector<int>{-1}));
  EXPECT_EQ(checkpoint->step(), 3);
}

TEST_F(Fixtures, AFileCutAnywhereIsSaidAndNeverCrashes) {
  for (const char* name : {"dtypes.pt", "legacy.pt", "dtypes.safetensors", "numpy4.pt"}) {
    SCOPED_TRACE(name);
    std::ifstream in(*folder_ / name, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 97) {
      const std::string path = folder_->write(fmt::format("cut/{}", name), whole.substr(0, cut));
      const auto checkpoint = open_checkpoint(path);
      if (checkpoint) {
        EXPECT_FALSE(checkpoint->findings.empty()) << "cut at " << cut;
        for (const Tensor& tensor : checkpoint->tensors) scan_tensor(tensor);
      }
    }
  }
}

}  // namespace
}  // namespace aplomb
