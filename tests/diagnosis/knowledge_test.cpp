/// The knowledge is sound: everything parses, every name is declared, every cross-reference leads
/// somewhere.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "diagnosis/cause_book.h"

namespace aplomb::diagnosis {
namespace {

TEST(Knowledge, EveryConditionParses) {
  EXPECT_TRUE(cause_book().mistakes.empty()) << cause_book().mistakes.front();
}

TEST(Knowledge, EveryFactThatACauseAsksForIsDeclared) {
  const std::vector<std::string> declared = declared_facts();
  ASSERT_FALSE(declared.empty());
  for (const Cause& cause : cause_book().causes) {
    for (const std::string& name : cause.explains) {
      EXPECT_TRUE(is_declared(declared, name)) << cause.id << " explains " << name;
    }
    const auto check = [&](const Condition& condition) {
      for (const std::string& name : condition.names()) {
        EXPECT_TRUE(is_declared(declared, name)) << cause.id << " asks for " << name;
      }
    };
    for (const Condition& needed : cause.needs) check(needed);
    for (const EvidenceRule& rule : cause.evidence) check(rule.when);
    for (const Refutation& each : cause.refuted_by) check(each.when);
    for (const Sentence& each : cause.because) {
      for (const Condition& condition : each.when) check(condition);
    }
    for (const RemedyRule& rule : cause.remedies) {
      for (const Condition& condition : rule.when) check(condition);
      for (const auto& [setting, written] : rule.remedy.set) {
        const std::string name(fact_of_formula(written));
        EXPECT_TRUE(name.empty() || is_declared(declared, name)) << cause.id << " takes " << name;
        EXPECT_TRUE(is_declared(declared, setting)) << cause.id << " sets " << setting;
      }
    }
  }
  for (const NextStep& next : cause_book().next_steps) {
    for (const std::string& name : next.when.names()) {
      EXPECT_TRUE(is_declared(declared, name)) << "a next step asks for " << name;
    }
  }
}

TEST(Knowledge, EveryPlaceholderNamesADeclaredFact) {
  const std::vector<std::string> declared = declared_facts();
  for (const Cause& cause : cause_book().causes) {
    std::vector<std::string> texts = {cause.verify};
    for (const Sentence& each : cause.because) texts.push_back(each.text);
    for (const Refutation& each : cause.refuted_by) texts.push_back(each.because);
    for (const EvidenceRule& each : cause.evidence) texts.push_back(each.because);
    for (const std::string& text : texts) {
      for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
        const std::size_t end = text.find('}', at);
        ASSERT_NE(end, std::string::npos) << cause.id;
        const std::string name = text.substr(at + 1, end - at - 1);
        EXPECT_TRUE(is_declared(declared, name)) << cause.id << " shows " << name;
      }
    }
  }
}

TEST(Knowledge, EveryCauseSaysWhatAUserNeeds) {
  std::set<std::string> ids;
  for (const Cause& cause : cause_book().causes) {
    EXPECT_TRUE(ids.insert(cause.id).second) << cause.id << " stands twice";
    EXPECT_EQ(cause.id.substr(0, cause.id.find('.')), cause.family) << cause.id;
    EXPECT_FALSE(cause.title.empty()) << cause.id;
    EXPECT_FALSE(cause.because.empty()) << cause.id;
    EXPECT_FALSE(cause.remedies.empty()) << cause.id;
    EXPECT_FALSE(cause.verify.empty()) << cause.id;
    EXPECT_FALSE(cause.evidence.empty()) << cause.id;
    EXPECT_LT(cause.prior, 0.5) << cause.id << ": no cause is likely before there is evidence";
    for (const EvidenceRule& rule : cause.evidence) {
      EXPECT_NE(rule.weight, 0) << cause.id << ": " << rule.when.text();
      EXPECT_LE(std::fabs(rule.weight), 6) << cause.id << ": " << rule.when.text();
    }
  }
}

TEST(Knowledge, ARefutationTellsItsSentence) {
  std::size_t count = 0;
  for (const Cause& cause : cause_book().causes) {
    for (const Refutation& each : cause.refuted_by) {
      ++count;
      const bool by_fact = each.when.text() == "loss.rises_with_stage && unseen(loss.nonfinite)";
      EXPECT_TRUE(by_fact || !each.because.empty()) << cause.id << ": " << each.when.text();
    }
  }
  EXPECT_GT(count, 60U);
}

TEST(Knowledge, ExperimentsSeparateCausesThatExist) {
  for (const Cause& cause : cause_book().causes) {
    for (const PricedExperiment& priced : cause.experiments) {
      EXPECT_FALSE(priced.experiment.text.empty()) << cause.id;
      EXPECT_FALSE(priced.experiment.reads.empty()) << cause.id;
      for (const std::string& id : priced.experiment.separates) {
        EXPECT_NE(cause_book().find(id), nullptr) << cause.id << " separates " << id;
      }
    }
  }
}

}  // namespace
}  // namespace aplomb::diagnosis
