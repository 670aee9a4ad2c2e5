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

TEST(ScoreSeries, BestValuesAndRolesOfTrainingAreLeftAlone) {
  EXPECT_EQ(told("best_f1", {0, 0, 0}), "");
  EXPECT_EQ(told("accuracy", {0, 0, 0}, record::Role::accuracy), "");
  EXPECT_EQ(told("lr", {0, 0, 0}), "");
}

}  // namespace
}  // namespace aplomb::task
