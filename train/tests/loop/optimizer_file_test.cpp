/// Checkpoints of the trainer, as `aplomb ckpt` sees them.
#include "train/loop/optimizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/parameter_map.h"
#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "toy.h"

namespace aplomb::train::loop {
namespace {

TEST(OptimizerFile, OfARealCheckpointIsReadAsWhatTheOptimizerHolds) {
  const test::Folder place;
  ToyRun run(place / "run", {.steps = 10});
  ASSERT_EQ(run.error, "");
  ASSERT_TRUE(run.trainer->run());
  const auto checkpoint = checkpoint::open_checkpoint(run.store().path_of(10));
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  EXPECT_TRUE(checkpoint->findings.empty()) << checkpoint->findings.front().text;
  ASSERT_EQ(checkpoint->tensors.size(), 1U);
  EXPECT_EQ(checkpoint->tensors[0].name, "table");
  ASSERT_TRUE(checkpoint->optimizer);
  ASSERT_EQ(checkpoint->optimizer->states.size(), 1U);
  EXPECT_EQ(checkpoint->optimizer->states[0].step, 10);
  const checkpoint::OptimizerGroup& group = checkpoint->optimizer->groups.at(0);
  EXPECT_EQ(group.numbers.at("initial_lr"), 0.05);
  EXPECT_EQ(group.numbers.at("lr"), 0);  // the schedule is at its end
  EXPECT_TRUE(checkpoint::map_parameters(*checkpoint).certain());
  // Its updates can be judged: nothing is lost in fp32.
  const auto prediction = checkpoint::predict_precision(*checkpoint);
  ASSERT_EQ(prediction.tensors.size(), 1U);
  const checkpoint::ResumeAudit audit = checkpoint::audit_resume(*checkpoint, 1);
  EXPECT_TRUE(audit.complete());
  EXPECT_TRUE(audit.disagreements.empty());
}

TEST(OptimizerFile, MuonsMatricesAreAGroupOfTheirOwn) {
  const std::vector<NamedTensor> parameters = {{"layers.0.weight", at::ones({4, 2})},
                                               {"norm.weight", at::ones({4})}};
  OptimFlags flags;
  flags.optim = "muon";
  const auto optimizer = make_optimizer(parameters, flags, 1e-3);
  const ToyTrainee trainee(0);
  const test::Folder place;
  ASSERT_TRUE(save_optimizer(place / "optimizer.state", *optimizer, trainee, 0.5));
  const auto checkpoint = checkpoint::open_checkpoint(place / "optimizer.state");
  ASSERT_TRUE(checkpoint) << checkpoint.error().text;
  ASSERT_TRUE(checkpoint->optimizer);
  const auto& groups = checkpoint->optimizer->groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].numbers.at("lr"), 5e-4);
  EXPECT_EQ(groups[1].numbers.at("ns_steps"), 5);
  EXPECT_EQ(groups[1].numbers.at("lr"), 0.01);
}

}  // namespace
}  // namespace aplomb::train::loop
