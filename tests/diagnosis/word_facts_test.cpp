#include "diagnosis/word_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "diagnosis/cause_book.h"
#include "diagnosis/derivers.h"
#include "knowledge/text_classifier.h"

namespace aplomb::diagnosis {
namespace {

using knowledge::TextClassifier;

/// Two texts of a run: the second repeats a word of the first.
aplomb::record::Run two_texts() {
  aplomb::record::Run run;
  run.facts.push_back({std::string(TextClassifier::k_fact),
                       std::string("the|loss is|overfit|we|on|our|data\nvalidat|validat los"),
                       "",
                       {{0, 1, 0}, {0, 4, 90}}});
  run.facts.push_back(
      {std::string(TextClassifier::k_fact), std::string("overfit|epoch"), "", {{1, 7, 300}}});
  return run;
}

TEST(ReportFeatures, AreTheWordsAndTheFactsThatHold) {
  FactTable facts;
  facts.set({"said.loss.rises", true, "", {}});
  facts.set({"said.loss.falls", false, "", {}});
  facts.set({"optim.lr", 0.1, "", {}});
  facts.set({"precision.compute", std::string("FP16"), "", {}});
  facts.set({"model.name", std::string("a name that is longer than a word may be"), "", {}});
  EXPECT_EQ(report_features(two_texts(), facts),
            (std::vector<std::string>{"@precision.compute=fp16", "@said.loss.rises", "data",
                                      "epoch", "loss is", "on", "our", "overfit", "the", "validat",
                                      "validat los", "we"}));
}

/// A cause that was renamed would keep its words to itself, a fact that was renamed would never hold
/// again, and no answer would show it: both fail here.
TEST(WordFacts, LearntCausesAreThoseOfTheBook) {
  const std::vector<std::string>& causes = TextClassifier::instance().causes();
  std::set<std::string> learnt(causes.begin(), causes.end());
  EXPECT_EQ(learnt.erase(std::string(TextClassifier::k_healthy)), 1U);
  for (const std::string& cause : learnt) EXPECT_NE(cause_book().find(cause), nullptr) << cause;
  // A cause may come before its reports; of twenty, one at the most may still wait for them.
  std::set<std::string> without;
  for (const Cause& cause : cause_book().causes) {
    if (!learnt.contains(cause.id)) without.insert(cause.id);
  }
  EXPECT_LE(without.size() * 20, cause_book().causes.size())
      << "write reports of these and train the classifier again: "
      << ::testing::PrintToString(without);
}

/// A measure that no condition asks for (`loss.spike.series`) stands under its declared symptom; events
/// of these kinds (record/run.h) come without a signature that would declare them.
bool is_named_rightly(const std::vector<std::string>& declared, std::string_view name) {
  return is_declared(declared, name) || is_declared(declared, name.substr(0, name.rfind('.'))) ||
         name == "error.traceback" || name == "error.traceback.exception" ||
         name == "error.restart";
}

TEST(WordFacts, LearntFactsAreDeclared) {
  const std::vector<std::string> declared = declared_facts();
  std::size_t facts = 0;
  for (const std::string& feature : TextClassifier::instance().features()) {
    if (!feature.starts_with(TextClassifier::k_fact_mark)) continue;
    ++facts;
    const std::string_view name = std::string_view(feature).substr(1, feature.find('=') - 1);
    EXPECT_TRUE(is_named_rightly(declared, name)) << name;
  }
  EXPECT_GT(facts, 0U);
  EXPECT_FALSE(is_named_rightly(declared, "said.loss_renamed.nonfinite"));
}

TEST(WordFacts, NameTheLinesThatSayMost) {
  FactTable facts;
  facts::FactGraph(word_facts()).derive(two_texts(), facts);
  const record::Fact* heard = facts.find("words.overfit.too-many-epochs");
  ASSERT_NE(heard, nullptr);
  EXPECT_GT(*core::as_number(heard->value), 0);
  ASSERT_FALSE(heard->evidence.empty());
  const bool known = std::all_of(heard->evidence.begin(), heard->evidence.end(), [](auto& origin) {
    return origin.line == 1 || origin.line == 4 || origin.line == 7;
  });
  EXPECT_TRUE(known);
  const record::Fact* unlike = facts.find("words.hang.rendezvous");
  ASSERT_NE(unlike, nullptr);
  EXPECT_TRUE(unlike->evidence.empty());
}

TEST(ReportFeatures, BesideMetricsOnlyPeopleAreHeard) {
  record::Run run = two_texts();
  record::Series loss;
  loss.name = "loss";
  loss.count = 40;
  run.series.push_back(loss);
  FactTable facts;
  facts.set({"said.loss.rises", true, "", {}});
  facts.set({"loss.plateau", true, "", {}});
  EXPECT_EQ(report_features(run, facts), std::vector<std::string>{"@said.loss.rises"})
      << "what a program printed is nobody's report";
  run.facts.push_back({std::string(TextClassifier::k_account), true, "", {{1, 0, 0}}});
  EXPECT_EQ(report_features(run, facts),
            (std::vector<std::string>{"@said.loss.rises", "epoch", "overfit"}));
}

TEST(WordFacts, AThinTextSaysNothing) {
  aplomb::record::Run run;
  run.facts.push_back(
      {std::string(TextClassifier::k_fact), std::string("loss|is nan"), "", {{0, 1, 0}}});
  FactTable facts;
  facts::FactGraph(word_facts()).derive(run, facts);
  EXPECT_TRUE(facts.all().empty());
}

}  // namespace
}  // namespace aplomb::diagnosis
