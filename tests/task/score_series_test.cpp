#include "task/score_series.h"

#include <gtest/gtest.h>

#include <string>

#include "record/run_builder.h"

namespace aplomb::task {
namespace {

/// The kinds of events of a run with one series, `loss` beside it.
std::string told(const char* name, const std::vector<double>& values,
                 record::Role role = record::Role::other) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  const auto id = build.series(source, name, name, role, record::StepKind::explicit_);
  std::int64_t step = 0;
  for (const double value : values) {
    step += 60;
    build.append(id, step, value, static_cast<std::uint64_t>(step), 1);
  }
  note_scores(run);
  std::string kinds;
  for (const record::Event& event : run.events)
    kinds += event.kind + " " + core::show(event.caught.at("name_text")) + ";";
  return kinds;
}

TEST(ScoreSeries, AScoreThatIsNeverAnythingIsTold) {
  EXPECT_EQ(told("exact_match", {0, 0, 0, 0}), "score-none exact match;");
  EXPECT_EQ(told("eval_pass@1", {0, 0, 0}), "score-none pass@1;");
  EXPECT_EQ(told("exact_match", {0, 0}), "") << "both may stand at the start";
  EXPECT_EQ(told("exact_match", {0, 0, 0.1}), "");
}

TEST(ScoreSeries, AScoreThatGetsWorseIsToldBeyondItsNoise) {
  EXPECT_EQ(told("test_f1", {0.71, 0.5, 0.42}), "score-worse f1;");
  EXPECT_EQ(told("test_f1", {0.9, 0.5, 0.52, 0.49, 0.51, 0.5, 0.48, 0.53, 0.5, 0.2}), "")
      << "the first and the last of many values are noise";
  EXPECT_EQ(told("val_wer", {0.2, 0.25, 0.31}), "score-worse wer;");
}

TEST(ScoreSeries, AnErrorThatStaysIsToldOfManyValues) {
  EXPECT_EQ(told("mmd", {0.45, 0.46, 0.46, 0.45, 0.45, 0.46, 0.45, 0.47, 0.46}),
            "score-unmoved mmd;");
  EXPECT_EQ(told("mmd", {0.45, 0.46, 0.46}), "");
  EXPECT_EQ(told("f1", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}), "");
}

/// The same beside a training loss, and what else the run holds.
std::string told_beside(const std::vector<double>& loss, const char* name,
                        const std::vector<double>& values,
                        const std::vector<const char*>& others = {}) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  const auto add = [&](const char* each, record::Role role, const std::vector<double>& points) {
    const auto id = build.series(source, each, each, role, record::StepKind::explicit_);
    for (std::size_t i = 0; i < points.size(); ++i)
      build.append(id, static_cast<std::int64_t>(i), points[i], i + 1, 1);
  };
  add("loss", record::Role::loss, loss);
  add(name, record::Role::other, values);
  for (const char* each : others) add(each, record::Role::other, loss);
  note_scores(run);
  std::string kinds;
  for (const record::Event& event : run.events) kinds += event.kind + ";";
  return kinds;
}

TEST(ScoreSeries, HeldOutAnswersThatHardlyGetBetterWhileTheLossHalves) {
  const std::vector<double> halves = {0.67, 0.6, 0.5, 0.35, 0.26, 0.2};
  const std::vector<double> stays = {0.147, 0.143, 0.152, 0.172, 0.171, 0.17};
  EXPECT_EQ(told_beside(halves, "valid HR@10", stays), "score-stuck;");
  EXPECT_EQ(told_beside(halves, "train_auc", stays), "") << "of training";
  EXPECT_EQ(told_beside({0.67, 0.6, 0.6, 0.6, 0.6, 0.6}, "valid HR@10", stays), "")
      << "the loss does not halve";
  EXPECT_EQ(told_beside(halves, "valid HR@10", {0.02, 0.04, 0.06, 0.07, 0.07, 0.07}), "")
      << "small numbers that treble";
  EXPECT_EQ(told_beside(halves, "val_auc", {0.8, 0.81, 0.81, 0.81, 0.81, 0.81}), "")
      << "good from the first on";
}

TEST(ScoreSeries, AnOverlapIsAScoreWhereNoLossesStandBesideIt) {
  const std::vector<double> falls = {0.6, 0.5, 0.47, 0.44, 0.42, 0.41, 0.4, 0.39, 0.39, 0.388};
  const std::vector<double> lost = {0.06, 0.34, 0.3, 0.13, 0.08, 0.07, 0.03, 0.04, 0.06, 0.07};
  EXPECT_EQ(told_beside(falls, "val/dice", lost), "score-worse;");
  EXPECT_EQ(told_beside(falls, "val/dice_loss", lost), "");
  EXPECT_EQ(told_beside(falls, "val/dice", lost, {"val/bce"}), "") << "one loss of two";
}

TEST(ScoreSeries, SamplesOfAPairThatDoNotChangeAreTold) {
  const std::vector<double> wanders = {1.1, 1.0, 1.07, 1.09, 1.06, 1.08};
  const std::vector<double> still = {0.0867, 0.0866, 0.0867, 0.0866, 0.0868, 0.0867};
  EXPECT_EQ(told_beside(wanders, "pixel std", still, {"loss_d", "loss_g"}), "score-unmoved;");
  EXPECT_EQ(told_beside(wanders, "pixel std", still), "") << "no adversarial pair";
  EXPECT_EQ(
      told_beside(wanders, "pixel std", {0.08, 0.12, 0.2, 0.25, 0.3, 0.31}, {"loss_d", "loss_g"}),
      "");
}

TEST(ScoreSeries, BestValuesAndRolesOfTrainingAreLeftAlone) {
  EXPECT_EQ(told("best_f1", {0, 0, 0}), "");
  EXPECT_EQ(told("accuracy", {0, 0, 0}, record::Role::accuracy), "");
  EXPECT_EQ(told("lr", {0, 0, 0}), "");
}

}  // namespace
}  // namespace aplomb::task
