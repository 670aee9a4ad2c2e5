#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "diagnosis/cause_book.h"
#include "diagnosis/remedy.h"
#include "knowledge/setting.h"
#include "preflight/judge.h"
#include "preflight/rule_book.h"
#include "preflight/settings_run.h"

namespace aplomb::preflight {
namespace {

std::string shown(const ExampleSettings& example) {
  std::string text;
  for (const auto& [name, value] : example) text += " " + name + "=" + core::show(value);
  return text;
}

bool finds(const ExampleSettings& example, const std::string& id) {
  const std::vector<Finding> findings = judge_settings(test::run_of(example));
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

TEST(RuleBook, IsReadWithoutAMistake) {
  EXPECT_GE(rule_book().rules.size(), 90U);
  EXPECT_THAT(rule_book().mistakes, ::testing::IsEmpty());
}

TEST(RuleBook, NamesEachRuleOnceByItsTopic) {
  std::set<std::string> ids;
  for (const CheckRule& rule : rule_book().rules) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " stands twice";
    EXPECT_TRUE(rule.id.starts_with(rule.topic + ".")) << rule.id << " in " << rule.topic;
    EXPECT_FALSE(rule.title.empty()) << rule.id;
    EXPECT_FALSE(rule.because.empty()) << rule.id;
  }
}

TEST(RuleBook, NoRuleLacksAnExampleOfEitherKindARemedyOrASource) {
  for (const CheckRule& rule : rule_book().rules) {
    EXPECT_FALSE(rule.fires.empty()) << rule.id;
    EXPECT_FALSE(rule.silent.empty()) << rule.id;
    if (rule.id == "batch.said") continue;  // says a number, changes nothing
    EXPECT_FALSE(rule.remedies.empty()) << rule.id;
    EXPECT_FALSE(rule.references.empty()) << rule.id;
  }
}

TEST(RuleBook, FiresOnItsExamples) {
  for (const CheckRule& rule : rule_book().rules) {
    for (const ExampleSettings& example : rule.fires)
      EXPECT_TRUE(finds(example, rule.id)) << rule.id << " is silent on" << shown(example);
  }
}

TEST(RuleBook, StaysSilentOnItsCounterexamples) {
  for (const CheckRule& rule : rule_book().rules) {
    for (const ExampleSettings& example : rule.silent)
      EXPECT_FALSE(finds(example, rule.id)) << rule.id << " fires on" << shown(example);
  }
}

/// The finding that the user reads first says the line to change: a rule that fires on an example
/// points at one of its settings.
TEST(RuleBook, PointsAtASettingOfTheExample) {
  for (const CheckRule& rule : rule_book().rules) {
    for (const ExampleSettings& example : rule.fires) {
      for (const Finding& finding : judge_settings(test::run_of(example))) {
        if (finding.id != rule.id) continue;
        EXPECT_FALSE(finding.evidence.empty()) << rule.id;
      }
    }
  }
}

TEST(RuleBook, WritesWholeNumbersOut) {
  const std::vector<Finding> findings =
      judge_settings(test::run_of({{"tokenizer.pad_id", 32000.0}, {"model.vocab_size", 32000.0}}));
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "tokenizer.pad-outside";
  });
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->because, ::testing::HasSubstr("Id 32000 in a vocabulary of 32000"));
}

TEST(RuleBook, AsksOnlyForFactsThatAreDeclared) {
  const std::vector<std::string> declared = diagnosis::declared_facts();
  const auto check = [&](const diagnosis::Condition& condition, const std::string& id) {
    for (const std::string& name : condition.names())
      EXPECT_TRUE(diagnosis::is_declared(declared, name)) << id << " asks for " << name;
  };
  for (const CheckRule& rule : rule_book().rules) {
    check(rule.when.front(), rule.id);
    for (const diagnosis::RemedyRule& remedy : rule.remedies) {
      for (const diagnosis::Condition& condition : remedy.when) check(condition, rule.id);
      for (const auto& [name, value] : remedy.remedy.set) {
        EXPECT_NE(knowledge::find_setting_spec(name), nullptr) << rule.id << " sets " << name;
        const std::string_view asked = diagnosis::fact_of_formula(value);
        if (asked.empty()) continue;
        EXPECT_TRUE(diagnosis::is_declared(declared, asked))
            << rule.id << " computes with " << asked;
      }
    }
    for (const VersionRange& range : rule.versions)
      EXPECT_TRUE(diagnosis::is_declared(declared, "env." + range.package)) << rule.id;
  }
}

TEST(RuleBook, LeadsToCausesOfTheBook) {
  for (const CheckRule& rule : rule_book().rules) {
    for (const std::string& cause : rule.leads_to)
      EXPECT_NE(diagnosis::cause_book().find(cause), nullptr) << rule.id << " leads to " << cause;
  }
}

TEST(RuleBook, DefaultsAreSettings) {
  EXPECT_FALSE(rule_book().defaults.empty());
  for (const TrainerDefaults& defaults : rule_book().defaults) {
    EXPECT_FALSE(defaults.source.empty());
    for (const auto& [name, value] : defaults.settings)
      EXPECT_NE(knowledge::find_setting_spec(name), nullptr) << name;
  }
}

TEST(Versions, CompareByTheirNumbers) {
  EXPECT_LT(compare_versions("2.9.1", "2.10"), 0);
  EXPECT_EQ(compare_versions("2.5.0+cu124", "2.5"), 0);
  EXPECT_GT(compare_versions("v4.46.1", "4.46"), 0);
  EXPECT_EQ(compare_versions("", "0"), 0);
  EXPECT_LT(compare_versions("1.13.1", "2"), 0);
}

TEST(Versions, AllBoundsOfARangeMustHold) {
  const VersionRange range{"torch", {{">=", "2.5"}, {"<", "2.5.1"}}, false};
  EXPECT_TRUE(range.holds("2.5.0+cu121"));
  EXPECT_FALSE(range.holds("2.5.1"));
  EXPECT_FALSE(range.holds("2.4.1"));
}

}  // namespace
}  // namespace aplomb::preflight
