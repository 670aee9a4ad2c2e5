#include "report/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "record/run_builder.h"
#include "report/chart_points.h"

namespace aplomb::report {
namespace {

DiagnosedRun made_run(const std::string& name, diagnosis::Standing standing, std::size_t samples) {
  DiagnosedRun made;
  made.run.name = name;
  record::RunBuilder build(made.run);
  const record::SourceId log = build.open(name + "/train.log", "text_log", 1000);
  const record::SeriesId loss =
      build.series(log, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (std::size_t i = 0; i < samples; ++i) {
    build.append(loss, static_cast<std::int64_t>(i), 2.0 - 0.001 * static_cast<double>(i), i + 1,
                 20 * i);
  }
  made.diagnosis.standing = standing;
  return made;
}

diagnosis::RankedCause made_cause() {
  diagnosis::RankedCause cause;
  cause.id = "nan.lr-too-high";
  cause.family = "nan";
  cause.title = "The learning rate is too high";
  cause.probability = 0.9;
  const auto reason = [](const char* when, double weight, record::Origin origin,
                         const char* because) {
    diagnosis::WeighedReason made;
    made.when = when;
    made.weight = weight;
    made.evidence = {origin};
    made.because = because;
    return made;
  };
  cause.reasons = {reason("weak", 0.2, {0, 9, 160}, "a"), reason("strong", 3.0, {0, 3, 40}, "b"),
                   reason("against", -1.0, {0, 5, 80}, "c")};
  cause.remedies = {{"lower the learning rate", {{"optim.lr", 2e-5}}},
                    {"pin_memory=True helps", {}},
                    {"or change the data", {}}};
  return cause;
}

TEST(BuildReport, IsSoundWithoutAnyRun) {
  const Report report = build_report({}, 8);
  EXPECT_EQ(report.verdict, Verdict::insufficient_evidence);
  EXPECT_EQ(std::get<std::string>(report.summary.at("headline")), "nothing could be read");
  EXPECT_FALSE(std::get<std::string>(report.summary.at("first_action")).empty());
}

TEST(BuildReport, LetsTheWorstRunLeadAndNamesTheOthers) {
  const Report report = build_report({made_run("a", diagnosis::Standing::healthy, 50),
                                      made_run("b", diagnosis::Standing::failed, 5),
                                      made_run("c", diagnosis::Standing::insufficient, 1)},
                                     8);
  EXPECT_EQ(report.verdict, Verdict::failed);
  ASSERT_EQ(report.runs.size(), 3U);
  EXPECT_EQ(report.runs[0].name, "b");
  EXPECT_EQ(report.runs[1].name, "a");  // judged healthy before too little to judge
  EXPECT_EQ(report.inputs.size(), 3U);
  EXPECT_EQ(report.series[0].path, "b/train.log");
}

TEST(BuildReport, GivesOneSeriesOfAName_TheOneWithMostSamples) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::healthy, 10);
  record::RunBuilder build(made.run);
  const record::SourceId state =
      made.run.sources.size() == 1 ? build.open("a/state.json", "trainer_state", 10) : 0;
  const record::SeriesId loss =
      build.series(state, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (int i = 0; i < 25; ++i) build.append(loss, i, 1.0, 0, static_cast<std::uint64_t>(i));
  const Report report = build_report({made}, 8);
  ASSERT_EQ(report.series.size(), 1U);
  EXPECT_EQ(report.series[0].points, 25U);
  EXPECT_EQ(report.series[0].path, "a/state.json");
  EXPECT_EQ(report.inputs[0].steps, 10U);
  EXPECT_EQ(report.inputs[1].steps, 25U);
}

TEST(BuildReport, PutsTheStrongestReasonsLinesFirstAndLeavesThoseAgainstOut) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::failed, 10);
  made.diagnosis.causes = {made_cause()};
  const Report report =
      build_report({made}, 8, [](const record::Source&, const record::Origin& origin) {
        return "line " + std::to_string(origin.line);
      });
  ASSERT_EQ(report.causes.size(), 1U);
  const ReportCause& cause = report.causes[0];
  ASSERT_EQ(cause.evidence.size(), 2U);
  EXPECT_EQ(cause.evidence[0].text, "line 3");
  EXPECT_EQ(cause.evidence[1].text, "line 9");
  EXPECT_EQ(cause.weights.front().when, "strong");
  EXPECT_EQ(cause.weights.back().when, "against");
}

TEST(BuildReport, WritesRemediesAsSentencesAndRendersTheirSettings) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::failed, 10);
  made.diagnosis.causes = {made_cause()};
  const Report report = build_report({made}, 8);
  const auto& remedies = report.causes[0].remedies;
  ASSERT_EQ(remedies.size(), 3U);
  EXPECT_EQ(remedies[0].text, "Lower the learning rate");
  EXPECT_EQ(remedies[1].text, "pin_memory=True helps");  // code keeps its case
  EXPECT_EQ(remedies[2].text, "Change the data");
  EXPECT_EQ(remedies[0].rendered.at("generic"), "learning rate: 2e-05");
  EXPECT_TRUE(remedies[1].rendered.empty());
  EXPECT_EQ(std::get<std::string>(report.summary.at("first_action")), "Lower the learning rate");
}

TEST(BuildReport, ListsAtMostSoManyCauses) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::failed, 10);
  made.diagnosis.causes.assign(5, made_cause());
  EXPECT_EQ(build_report({made}, 2).causes.size(), 2U);
}

TEST(BuildReport, SaysWhatCouldNotBeRead) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::healthy, 10);
  made.run.defects = {
      {0, 77, "truncated", core::Severity::warning, "[text_log] the last line is torn", 3}};
  const Report report = build_report({made}, 8);
  ASSERT_EQ(report.inputs[0].warnings.size(), 1U);
  EXPECT_EQ(report.inputs[0].warnings[0],
            "[text_log] the last line is torn (at byte 77) (3 times)");
}

TEST(BuildReport, LetsTheLaterSettingOfANameWin) {
  DiagnosedRun made = made_run("a", diagnosis::Standing::healthy, 10);
  made.run.settings = {{"optim.lr", 0.1, "lr", "", {}}, {"optim.lr", 0.2, "lr", "", {}}};
  EXPECT_EQ(std::get<double>(build_report({made}, 8).settings.at("optim.lr")), 0.2);
}

record::Series long_series(std::size_t size) {
  record::Series series;
  for (std::size_t i = 0; i < size; ++i) {
    series.append(static_cast<std::int64_t>(i), 1.0 + 0.1 * static_cast<double>(i % 7), 0, i, i);
  }
  return series;
}

TEST(ChartPoints, KeepsEverySampleOfAShortSeries) {
  EXPECT_EQ(chart_points(long_series(1000)).size(), 1000U);
  EXPECT_TRUE(chart_points(record::Series{}).empty());
}

TEST(ChartPoints, ThinsALongSeriesButKeepsExtremesNonFiniteSamplesAndBothEnds) {
  record::Series series = long_series(50000);
  series.value[31337] = 99;
  series.value[17] = -99;
  series.value[40404] = std::nan("");
  const auto points = chart_points(series);
  EXPECT_LE(points.size(), ReportSeries::k_chart_points);
  EXPECT_GE(points.size(), ReportSeries::k_chart_points / 2);
  EXPECT_EQ(points.front().step, 0);
  EXPECT_EQ(points.back().step, 49999);
  const auto holds = [&](std::int64_t step) {
    return std::any_of(points.begin(), points.end(),
                       [step](const ChartPoint& p) { return p.step == step; });
  };
  EXPECT_TRUE(holds(31337));
  EXPECT_TRUE(holds(17));
  EXPECT_TRUE(holds(40404));
  EXPECT_TRUE(
      std::is_sorted(points.begin(), points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.step < b.step; }));
}

}  // namespace
}  // namespace aplomb::report
