/// The runs of examples/ were trained with known faults: the diagnosis of each must put a right
/// cause first, and leave the healthy ones alone.

#include <aplomb/diagnose.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace aplomb::api {
namespace {

struct Truth {
  bool healthy = false;
  std::set<std::string> right;  ///< causes that may stand first
};

std::map<std::string, Truth> expected() {
  std::ifstream file(APLOMB_SOURCE_DIR "/examples/expected.json");
  std::map<std::string, Truth> truths;
  for (const auto& [name, entry] :
       nlohmann::json::parse(file).get<std::map<std::string, nlohmann::json>>()) {
    Truth& truth = truths[name];
    truth.healthy = entry.at("healthy").get<bool>();
    truth.right = entry.at("accept").get<std::set<std::string>>();
    if (!truth.healthy) truth.right.insert(entry.at("cause").get<std::string>());
  }
  return truths;
}

TEST(Examples, EachBrokenRunHasARightCauseFirstAndEachHealthyOneIsCalledSo) {
  const std::map<std::string, Truth> truths = expected();
  ASSERT_GE(truths.size(), 8U);
  for (const auto& [name, truth] : truths) {
    const Report report = diagnose({APLOMB_SOURCE_DIR "/examples/" + name}, {});
    if (truth.healthy) {
      EXPECT_EQ(report.verdict, Verdict::healthy) << name;
      continue;
    }
    EXPECT_NE(report.verdict, Verdict::healthy) << name;
    ASSERT_FALSE(report.causes.empty()) << name;
    const std::string& first = report.causes.front().id;
    EXPECT_TRUE(truth.right.contains(first)) << name << ": said " << first;
    EXPECT_FALSE(report.causes.front().remedies.empty()) << name;
    EXPECT_FALSE(report.causes.front().evidence.empty()) << name;
  }
}

TEST(Examples, ProbabilitiesOfTheListedCausesAndTheUnknownAreSharesOfOne) {
  for (const auto& [name, truth] : expected()) {
    const Report report = diagnose({APLOMB_SOURCE_DIR "/examples/" + name}, {});
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
      EXPECT_GE(report.causes[i].probability, 0) << name;
      EXPECT_LE(report.causes[i].probability, 1) << name;
      const std::size_t before = i == 0 ? 0 : i - 1;
      EXPECT_LE(report.causes[i].probability, report.causes[before].probability) << name;
    }
  }
}

}  // namespace
}  // namespace aplomb::api
