#include "checkpoint/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/parameter_map.h"
#include "checkpoint/resume_audit.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::ElementsAre;

constexpr const char* k_state = R"({"schema": "aplomb.training_state/1", "step": 40,
  "total_steps": 144, "epoch": 1, "world": 2, "loss_scale": 1024.0, "rng": {"cpu": "00ff"}})";

/// A weight of two elements and what Adam keeps for it, with `metadata` in the optimizer's file.
void write_checkpoint(const test::Folder& folder, const std::string& name,
                      const std::string& metadata) {
  folder.write("c/adapter_model.safetensors",
               test::safetensors(R"({"a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                 test::raw<float>({1, 2})));
  folder.write("c/training_state.json", k_state);
  const std::string header =
      "{" + metadata +
      R"("exp_avg.a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("exp_avg_sq.a.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("step.a.weight":{"dtype":"F32","shape":[],"data_offsets":[16,20]}})";
  folder.write("c/" + name,
               test::safetensors(header, test::raw<float>({0.5F, 0.25F, 0.5F, 0.25F, 39})));
}

TEST(OwnFiles, TheOptimizersFileIsKnownByWhatItSaysAndHoldsNoWeights) {
  const test::Folder folder;
  write_checkpoint(folder, "optimizer.state",
                   R"("__metadata__":{"format":"aplomb.optimizer/1","groups":)"
                   R"("[{\"lr\":0.001,\"beta2\":0.99,\"parameters\":[\"a.weight\"]}]"},)");
  const auto checkpoint = open_checkpoint(folder / "c");
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  ASSERT_EQ(checkpoint->tensors.size(), 1U);
  EXPECT_EQ(checkpoint->tensors[0].name, "a.weight");
  ASSERT_TRUE(checkpoint->optimizer);
  const OptimizerState& optimizer = *checkpoint->optimizer;
  ASSERT_EQ(optimizer.groups.size(), 1U);
  EXPECT_EQ(optimizer.groups[0].numbers.at("lr"), 0.001);
  ASSERT_EQ(optimizer.states.size(), 1U);
  EXPECT_EQ(optimizer.states[0].step, 39);
  const ParameterMap map = map_parameters(*checkpoint);
  EXPECT_TRUE(map.certain());
  EXPECT_TRUE(map.unheld.empty());

  // The same file alone, under a name that says nothing.
  std::filesystem::rename(folder / "c/optimizer.state", folder / "moments.safetensors");
  const auto alone = open_checkpoint(folder / "moments.safetensors");
  ASSERT_TRUE(alone) << alone.error().text;
  EXPECT_TRUE(alone->tensors.empty());
  EXPECT_TRUE(alone->optimizer);
}

TEST(OwnFiles, AResumeFromItLosesNothing) {
  const test::Folder folder;
  write_checkpoint(folder, "optimizer.state", R"("__metadata__":{"format":"aplomb.optimizer/1"},)");
  const auto checkpoint = open_checkpoint(folder / "c");
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  EXPECT_EQ(checkpoint->step(), 40);
  const ResumeAudit audit = audit_resume(*checkpoint, 2);
  for (const ResumePart& part : audit.parts) EXPECT_TRUE(part.present) << part.role;
  EXPECT_TRUE(audit.disagreements.empty());
  EXPECT_EQ(audit_resume(*checkpoint, 4).disagreements.size(), 1U);
}

TEST(OwnFiles, SafetensorsNamedOptimizerAreReadInTheWordsOfOthers) {
  const test::Folder folder;
  const std::string path = folder.write(
      "optimizer.safetensors",
      test::safetensors(R"({"w.m":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                        R"("w.v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                        R"("learning_rate":{"dtype":"F32","shape":[],"data_offsets":[8,12]}})",
                        test::raw<float>({1, 2, 3})));
  const auto checkpoint = open_checkpoint(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  ASSERT_TRUE(checkpoint->optimizer);
  EXPECT_THAT(checkpoint->optimizer->names, ElementsAre("w"));
  EXPECT_EQ(checkpoint->optimizer->states[0].tensors.count("exp_avg_sq"), 1U);
  EXPECT_TRUE(checkpoint->tensors.empty());
}

TEST(OwnFiles, GroupsThatAreNoneLeaveTheStatesInOne) {
  const test::Folder folder;
  for (const char* groups : {"[", "7", "[1, {\\\"parameters\\\": [3]}]", ""}) {
    SCOPED_TRACE(groups);
    write_checkpoint(folder, "optimizer.state",
                     std::string(R"("__metadata__":{"format":"aplomb.optimizer/1","groups":")") +
                         groups + "\"},");
    const auto checkpoint = open_checkpoint(folder / "c");
    ASSERT_TRUE(checkpoint) << checkpoint.error().text;
    ASSERT_TRUE(checkpoint->optimizer);
    EXPECT_EQ(checkpoint->optimizer->groups.at(0).parameters.size(), 1U);
  }
}

TEST(OwnFiles, ATornTrainingStateIsSaid) {
  const test::Folder folder;
  write_checkpoint(folder, "optimizer.state", "");
  folder.write("c/training_state.json", std::string(k_state).substr(0, 60));
  const auto checkpoint = open_checkpoint(folder / "c");
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  EXPECT_FALSE(checkpoint->findings.empty());
  EXPECT_TRUE(checkpoint->trainer_state.empty());
}

}  // namespace
}  // namespace aplomb::checkpoint
