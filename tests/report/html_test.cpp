#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/axis.h"
#include "report/html_text.h"
#include "report/made_report.h"
#include "report/renderer.h"

namespace aplomb::report {
namespace {

std::string rendered(const Report& report) {
  const Renderer* html = find_renderer("html");
  return html == nullptr ? std::string() : html->render(report, {});
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

/// Instead of a matcher, which would print the whole page.
bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

TEST(HtmlReport, LoadsNothingAndAllowsNothingButItsOwnScript) {
  Report report = test::made_report();
  report.inputs[1].warnings.clear();  // the hostile text, which may say what it likes
  report.ruled_out.clear();
  const std::string page = rendered(report);
  EXPECT_TRUE(holds(page, "default-src 'none'; script-src 'sha256-"));
  EXPECT_FALSE(holds(page, " src="));
  EXPECT_FALSE(holds(page, "@import"));
  EXPECT_FALSE(holds(page, "url("));
  EXPECT_FALSE(holds(page, "onclick"));
}

TEST(HtmlReport, EscapesEveryTextOfTheReport) {
  Report report = test::made_report();
  const std::string hostile = test::k_hostile;
  report.causes[0].title = report.causes[0].because = report.causes[0].verify = hostile;
  report.causes[0].references = {"https://x/\"onmouseover=alert(1)", hostile};
  report.causes[0].weights[0].when = report.causes[0].weights[0].because = hostile;
  report.causes[0].remedies[0].text = hostile;
  report.causes[0].remedies[0].rendered[hostile] = hostile;
  report.causes[1].title = hostile;
  report.inputs[0].path = report.inputs[0].kind = hostile;
  report.series[0].name = report.symptoms[0].series = hostile;
  report.symptoms[0].summary = report.symptoms[0].severity = hostile;
  report.settings[hostile] = hostile;
  report.experiments[0].text = report.experiments[0].reads = hostile;
  report.runs.push_back({hostile, Verdict::failed, hostile, "", 1});
  for (const char* key : {"headline", "first_action", "framework", "run"})
    report.summary[key] = hostile;
  const std::string page = rendered(report);
  EXPECT_EQ(count(page, "</script>"), 2U);  // the samples and the page's own script
  EXPECT_FALSE(holds(page, "<img"));
  EXPECT_FALSE(holds(page, "\"onmouseover"));
  EXPECT_TRUE(
      holds(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot;"));
}

TEST(HtmlReport, ShowsVerdictCauseFixEvidenceAndWhatWasNotRead) {
  const std::string page = rendered(test::made_report());
  EXPECT_TRUE(holds(page, "<h1>The learning rate is too high</h1>"));
  EXPECT_TRUE(holds(page, "the loss became NaN at step 30"));
  EXPECT_TRUE(holds(page, "87 %"));
  EXPECT_TRUE(holds(page, "<pre data-way=\"hf-trainer\">learning_rate=2e-05</pre>"));
  EXPECT_TRUE(holds(page, "<span class=\"where\">train.log:31"));
  EXPECT_TRUE(holds(page, "lr.max &gt;= 0.003"));
  EXPECT_TRUE(holds(page, "A sample holds a non-finite value"));
  EXPECT_TRUE(holds(page, "<h2>Ruled out</h2>"));
  EXPECT_TRUE(holds(page, "nothing is computed in fp16: fp32"));
  EXPECT_TRUE(holds(page, "torn tail"));
  EXPECT_TRUE(holds(page, "precision.compute"));
}

TEST(HtmlReport, SaysWhatWasSeenBefore) {
  Report report = test::made_report();
  EXPECT_FALSE(holds(rendered(report), "Seen before"));
  report.seen_before = ReportSeenBefore{};
  report.seen_before->run = "3fa9c1d2";
  report.seen_before->name = "out/<b>exp";
  report.seen_before->date = "2026-11-12";
  report.seen_before->times = 2;
  report.seen_before->ended_by = "77b01e4c";
  report.seen_before->ended_date = "2026-11-13";
  report.seen_before->changed = {{"optim.lr", "0.01", "0.001"}};
  const std::string page = rendered(report);
  EXPECT_TRUE(holds(page, "<h2>Seen before</h2>"));
  EXPECT_TRUE(holds(page, "optim.lr 0.001 (was 0.01)"));
  EXPECT_FALSE(holds(page, "out/<b>exp"));
}

TEST(HtmlReport, PutsTheUsersFrameworkFirst) {
  const std::string page = rendered(test::made_report());
  EXPECT_LT(page.find("data-way=\"hf-trainer\""), page.find("data-way=\"generic\""));
}

TEST(HtmlReport, DrawsChartsWithSymptomsShadedAndNonFiniteSamplesMarked) {
  const std::string page = rendered(test::made_report());
  EXPECT_EQ(count(page, "<figure class=\"chart\""), 3U);
  EXPECT_EQ(count(page, "<rect class=\"band failed\""), 1U);  // on the loss, where it was seen
  EXPECT_GE(count(page, "<path class=\"bad\""), 1U);
  EXPECT_TRUE(holds(page, "<span>step 30</span>"));
}

TEST(HtmlReport, GivesTheScriptEverySampleOfTheCharts) {
  const std::string page = rendered(test::made_report());
  const auto samples = nlohmann::json::parse(between(page, "id=\"samples\">", "</script>"));
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0]["lines"][0]["steps"].size(), 40U);
  EXPECT_EQ(samples[0]["lines"][0]["values"][39], "nan");
}

TEST(HtmlReport, SaysHealthyAndStandsForAnEmptyReport) {
  EXPECT_TRUE(holds(rendered(test::made_healthy_report()), "<header class=\"hero healthy\">"));
  const std::string empty = rendered(Report{});
  EXPECT_TRUE(holds(empty, "Not enough evidence"));
  EXPECT_TRUE(holds(empty, "</html>"));
}

TEST(HtmlText, TurnsBackquotesIntoCodeOnlyInPairs) {
  EXPECT_EQ(prose("set `lr` <b>"), "set <code>lr</code> &lt;b&gt;");
  EXPECT_EQ(prose("a ` alone"), "a ` alone");
}

TEST(Axis, KeepsTicksRoundInsideAndFew) {
  EXPECT_THAT(ticks({0, 10, false}, 3), ::testing::ElementsAre(0, 5, 10));
  for (const Axis& axis :
       {padded_axis(1.2, 4.1, false), padded_axis(1e-9, 1e7, true), padded_axis(-3, 1e5, false),
        padded_axis(2, 2, false), padded_axis(0, 0, false), padded_axis(1.0, 3.0, true),
        padded_axis(-1e308, 1e308, false)}) {
    const auto found = ticks(axis, 3);
    EXPECT_GE(found.size(), 2U) << axis.low << " " << axis.high;
    EXPECT_LE(found.size(), 8U) << axis.low << " " << axis.high;
    for (const double tick : found) {
      EXPECT_GE(tick, axis.low - 1e-9 * std::fabs(axis.low));
      EXPECT_LE(tick, axis.high + 1e-9 * std::fabs(axis.high));
    }
  }
}

TEST(Axis, LabelsStayShort) {
  EXPECT_EQ(value_label(2e-5), "2e-5");
  EXPECT_EQ(value_label(1.2345e+07), "1.234e7");
  EXPECT_EQ(value_label(0.002), "0.002");
  EXPECT_EQ(step_label(12000), "12k");
  EXPECT_EQ(step_label(500), "500");
}

}  // namespace
}  // namespace aplomb::report
