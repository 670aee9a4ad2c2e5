#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/made_report.h"
#include "report/renderer.h"

namespace aplomb::report {
namespace {

using nlohmann::ordered_json;

std::string rendered(const Report& report) {
  const Renderer* json = find_renderer("json");
  return json == nullptr ? std::string() : json->render(report, {});
}

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(JsonReport, HoldsEveryMemberOfTheContractInItsOrder) {
  const auto report = ordered_json::parse(rendered(test::made_report()));
  EXPECT_THAT(keys_of(report),
              ::testing::ElementsAre("schema", "inputs", "series", "verdict", "symptoms", "causes",
                                     "ruled_out", "health", "unknown_probability", "experiments",
                                     "findings", "runs", "settings", "summary"));
  EXPECT_THAT(keys_of(report["ruled_out"][0]),
              ::testing::ElementsAre("id", "title", "because", "evidence"));
  EXPECT_EQ(report["ruled_out"][0]["evidence"][0]["line"], 31);
  EXPECT_THAT(keys_of(report["health"]), ::testing::ElementsAre("shown", "against", "missing"));
  EXPECT_EQ(report["health"]["missing"][0]["because"], "no loss, score or reward was read");
  EXPECT_EQ(report["schema"], "aplomb.report/1");
  EXPECT_EQ(report["verdict"], "failed");
  EXPECT_THAT(keys_of(report["inputs"][0]),
              ::testing::ElementsAre("path", "kind", "steps", "warnings"));
  EXPECT_THAT(
      keys_of(report["series"][0]),
      ::testing::IsSupersetOf({"name", "points", "first_step", "last_step", "min", "max", "last"}));
  EXPECT_THAT(keys_of(report["symptoms"][0]),
              ::testing::IsSupersetOf(
                  {"id", "severity", "first_step", "last_step", "summary", "evidence"}));
  EXPECT_THAT(keys_of(report["symptoms"][0]["evidence"][0]),
              ::testing::ElementsAre("path", "line", "step", "text"));
  EXPECT_THAT(keys_of(report["causes"][0]),
              ::testing::IsSupersetOf({"id", "family", "title", "probability", "because",
                                       "evidence", "remedies", "verify"}));
  EXPECT_THAT(keys_of(report["causes"][0]["remedies"][0]),
              ::testing::ElementsAre("text", "set", "rendered"));
}

TEST(JsonReport, WritesNumbersThatAreNotFiniteAsNullAndSaysWhatTheyWere) {
  Report made = test::made_report();
  made.series[0].chart = {{1, 2.5}, {2, std::nan("")}, {3, -INFINITY}};
  const auto report = ordered_json::parse(rendered(made));
  EXPECT_TRUE(report["series"][0]["last"].is_null());
  EXPECT_EQ(report["series"][0]["last_text"], "nan");
  EXPECT_EQ(report["series"][0]["chart"].dump(), R"([[1,2.5],[2,null,"nan"],[3,null,"-inf"]])");
}

TEST(JsonReport, StaysValidWhereATextIsNotUtf8) {
  Report made = test::made_report();
  made.symptoms[0].summary = "broken \xC3\x28 \xFF bytes";
  made.settings["\xFE"] = std::string("\xFE");
  const std::string text = rendered(made);
  EXPECT_TRUE(ordered_json::accept(text));
  EXPECT_THAT(text, ::testing::HasSubstr("\xEF\xBF\xBD"));
}

TEST(JsonReport, WritesCountsWithoutAFractionAndKeepsTruthAndText) {
  const auto report = ordered_json::parse(rendered(test::made_report()));
  EXPECT_EQ(report["summary"]["steps"].dump(), "40");
  EXPECT_EQ(report["settings"]["optim.lr"].dump(), "0.01");
  EXPECT_EQ(report["settings"]["data.packing"].dump(), "true");
  EXPECT_EQ(report["settings"]["precision.compute"].dump(), "\"bf16\"");
}

TEST(JsonReport, IsTheSameTextForTheSameReport) {
  EXPECT_EQ(rendered(test::made_report()), rendered(test::made_report()));
}

TEST(JsonReport, IsCompleteForAnEmptyReport) {
  const auto report = ordered_json::parse(rendered(Report{}));
  EXPECT_EQ(report["verdict"], "insufficient-evidence");
  EXPECT_TRUE(report["causes"].is_array());
  EXPECT_TRUE(report["settings"].is_object());
}

}  // namespace
}  // namespace aplomb::report
