#include "store/past_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aplomb::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PastRun, KeepsSpikesAndNansOfLongSeries) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 5000; ++i) points.push_back({i, std::sin(i * 0.01)});
  points[777].value = 99;
  points[3333].value = -99;
  points[4000].value = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ChartPoint> kept = decimated(points, PastSeries::k_most_points);
  EXPECT_LE(kept.size(), PastSeries::k_most_points);
  EXPECT_EQ(kept.front().step, 0);
  EXPECT_EQ(kept.back().step, 4999);
  const auto holds = [&](std::int64_t step) {
    return std::any_of(kept.begin(), kept.end(),
                       [step](const ChartPoint& each) { return each.step == step; });
  };
  EXPECT_TRUE(holds(777) && holds(3333) && holds(4000));
}

TEST(PastRun, TellsOfAReportWithoutItsSecrets) {
  Report report;
  report.verdict = Verdict::failed;
  report.summary["run"] = std::string("out");
  report.summary["headline"] = std::string("The loss is NaN");
  report.settings["optim.lr"] = 2e-5;
  report.settings["env.torch"] = std::string("2.13.0");
  report.settings["hub.token"] = std::string("hf_abcdefghijklmnopqrstuvwxyz");
  report.settings["data.path"] = std::string("/home/ann/data/train.jsonl");
  report.inputs.push_back({"out/train.log", "text-log", 10, {}});
  ReportSeries loss;
  loss.name = loss.role = "loss";
  loss.points = 10;
  loss.first_step = 1;
  loss.first = 2.5;
  loss.last_step = 10;
  loss.last = 1.5;
  loss.path = "out/train.log";
  report.series.push_back(loss);
  const PastRun run = past_run_of(report);
  EXPECT_EQ(run.verdict, "failed");
  EXPECT_EQ(run.settings.at("optim.lr"), "2e-05");
  EXPECT_EQ(run.settings.at("data.path"), "/home/ann/data/train.jsonl");
  EXPECT_THAT(run.settings.at("hub.token"), Not(HasSubstr("abcdef")));
  EXPECT_EQ(run.environment.at("env.torch"), "2.13.0");
  EXPECT_EQ(run.lead_path, "out/train.log");
  EXPECT_EQ(run.lead_first, "1 2.5");
  EXPECT_FALSE(run.is_answered) << "no cause was put forward";
}

TEST(PastRun, ComesBackFromItsJson) {
  PastRun run;
  run.id = "0123abcd";
  run.verdict = "failed";
  run.status = 137;
  run.settings = {{"optim.lr", "0.01"}};
  run.causes = {{"nan.lr-too-high", "title", 0.5}};
  run.changed = {{"optim.lr", "0.1", "0.01"}};
  run.helped = Helped::worse;
  run.lead_first = "1 2.5";
  run.series = {{"loss", "loss", 3, {{1, 2.5}, {2, std::numeric_limits<double>::infinity()}}}};
  const auto back = past_run_from(nlohmann::ordered_json::parse(json_of(run).dump()));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(json_of(*back), json_of(run));
}

TEST(PastRun, RefusesWhatIsNone) {
  for (const char* each :
       {"[]", "3", R"({"settings":{"a":3}})", R"({"series":[{"name":"x"}]})", R"({"began":"x"})"}) {
    EXPECT_FALSE(past_run_from(nlohmann::ordered_json::parse(each))) << each;
  }
}

TEST(PastRun, ComparesOnlyWhatBothCouldKnow) {
  PastRun before;
  before.kinds = "text-log";
  before.settings = {{"optim.lr", "0.01"}, {"optim.name", "adamw"}};
  PastRun after;
  after.kinds = "config-yaml text-log";
  after.settings = {{"optim.lr", "0.001"}, {"clip.norm", "1"}};
  std::vector<std::string> names;
  for (const ReportChange& each : changes_between(before, after)) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("optim.lr")) << "the others may not have been written down";
  after.kinds = before.kinds;
  names.clear();
  for (const ReportChange& each : changes_between(before, after)) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("clip.norm", "optim.lr", "optim.name"));
  EXPECT_EQ(helped("failed", "healthy"), Helped::yes);
  EXPECT_EQ(helped("warning", "unstable"), Helped::worse);
  EXPECT_EQ(helped("failed", "insufficient-evidence"), Helped::unknown);
}

}  // namespace
}  // namespace aplomb::store
