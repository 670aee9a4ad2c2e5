#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/made_report.h"
#include "report/renderer.h"

namespace aplomb::report {
namespace {

using nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t k_most_bytes = 12000;

std::string rendered(const Report& report, const char* slug = "agent") {
  const Renderer* view = find_renderer(slug);
  return view == nullptr ? std::string() : view->render(report, {});
}

/// Whether every member of `part` is one of `whole` under the same name; lists may be shorter, texts cut.
void expect_names_of(const ordered_json& part, const ordered_json& whole,
                     const std::string& where) {
  if (part.is_array() && !part.empty() && !whole.empty())
    return expect_names_of(part[0], whole[0], where + "[0]");
  if (!part.is_object() || where.ends_with(".set") || where.ends_with(".summary")) return;
  for (const auto& [name, value] : part.items()) {
    ASSERT_TRUE(whole.contains(name)) << where << "." << name;
    expect_names_of(value, whole[name], where + "." + name);
  }
}

TEST(AgentReport, IsAPartOfTheReportUnderTheSameNames) {
  auto agent = ordered_json::parse(rendered(test::made_report()));
  const auto whole = ordered_json::parse(rendered(test::made_report(), "json"));
  EXPECT_EQ(agent["view"], "agent/1");
  EXPECT_EQ(agent["schema"], whole["schema"]);
  EXPECT_EQ(agent["verdict"], whole["verdict"]);
  EXPECT_EQ(agent["causes"][0]["id"], whole["causes"][0]["id"]);
  for (const char* own : {"view", "next", "left_out", "missing"}) agent.erase(own);
  expect_names_of(agent, whole, "report");
}

TEST(AgentReport, SaysWhatToAskNext) {
  const auto agent = ordered_json::parse(rendered(test::made_report()));
  EXPECT_THAT(agent["next"],
              Contains("aplomb explain " + agent["causes"][0]["id"].get<std::string>()));
}

TEST(AgentReport, StaysWithinItsBytesHoweverLargeTheReport) {
  Report report = test::made_report();
  const std::string line(20000, 'x');  // longer than the whole may be
  for (int i = 0; i < 300; ++i) {
    report.causes.push_back(report.causes[0]);
    report.causes.back().because = line;
    report.causes.back().evidence.assign(5, {"a/very/long/" + line, 7, 3, line});
    report.symptoms.push_back(report.symptoms[0]);
    report.findings.push_back({"a.b", "failed", line, line, {{line, 1, {}, line}}, {}, {}, {}});
    report.runs.push_back({line, Verdict::failed, line, "x.y", 3});
    report.inputs.push_back({line, "text-log", 3, {line, line}});
  }
  report.causes[0] = report.causes.back();
  const std::string text = rendered(report);
  EXPECT_LE(text.size(), k_most_bytes);
  const auto agent = ordered_json::parse(text);
  EXPECT_EQ(agent["causes"][0]["id"], report.causes[0].id) << "cut, and still the report";
  EXPECT_GT(agent["left_out"]["causes"], 200);
  EXPECT_THAT(agent["next"], Contains(HasSubstr("--json")));
  for (int i = 0; i < 5000; ++i) report.summary["name" + std::to_string(i)] = line;
  EXPECT_LE(rendered(report).size(), k_most_bytes);
  EXPECT_EQ(ordered_json::parse(rendered(report))["verdict"], agent["verdict"]);
}

TEST(AgentReport, IsValidAndVisibleWhateverTheTextsHold) {
  Report report = test::made_report();
  report.causes[0].because = "bad \xff\xfe bytes \x1b[31m and \xe2\x80\xae turned";
  const std::string text = rendered(report);
  EXPECT_TRUE(ordered_json::accept(text));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(AgentReport, OfTooLittleEvidenceSaysWhatIsMissing) {
  Report report;
  report.verdict = Verdict::insufficient_evidence;
  report.health.missing.push_back({"no loss, score or reward was read", {}});
  report.summary["bring"] = std::string("the log");
  const auto agent = ordered_json::parse(rendered(report));
  EXPECT_EQ(agent["missing"][0]["because"], "no loss, score or reward was read");
  EXPECT_THAT(agent["next"], Contains("bring: the log"));
}

}  // namespace
}  // namespace aplomb::report
