#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/renderer.h"

namespace aplomb::report {
namespace {

using nlohmann::json;

json rendered(const Report& report) {
  const Renderer* view = find_renderer("sarif");
  return view == nullptr ? json() : json::parse(view->render(report, {}));
}

ReportFinding finding(const std::string& id, const std::string& severity) {
  ReportFinding out;
  out.id = id;
  out.severity = severity;
  out.title = "A title";
  out.because = "A reason.";
  out.evidence.push_back({"my configs/train.yaml", 7, std::nullopt, "lr: 1"});
  return out;
}

TEST(SarifReport, HoldsWhatTheStandardAsksFor) {
  Report report;
  report.findings = {finding("a.b", "failed"), finding("c.d", "warning"), finding("a.b", "note")};
  const json sarif = rendered(report);
  EXPECT_EQ(sarif["version"], "2.1.0");
  const json& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "aplomb");
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), 2U);
  ASSERT_EQ(run["results"].size(), 3U);
  EXPECT_EQ(run["results"][0]["level"], "error");
  EXPECT_EQ(run["results"][1]["level"], "warning");
  EXPECT_EQ(run["results"][2]["level"], "note");
  EXPECT_EQ(run["results"][2]["ruleIndex"], 0);
  EXPECT_EQ(run["results"][1]["ruleIndex"], 1);
}

TEST(SarifReport, PointsAtTheLineWithAUri) {
  Report report;
  report.findings = {finding("a.b", "failed")};
  const json place = rendered(report)["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "my%20configs/train.yaml");
  EXPECT_EQ(place["region"]["startLine"], 7);
  EXPECT_EQ(place["region"]["snippet"]["text"], "lr: 1");
}

TEST(SarifReport, IsWholeWithoutFindings) {
  const json sarif = rendered({});
  EXPECT_TRUE(sarif["runs"][0]["results"].is_array());
  EXPECT_TRUE(sarif["runs"][0]["results"].empty());
}

}  // namespace
}  // namespace aplomb::report
