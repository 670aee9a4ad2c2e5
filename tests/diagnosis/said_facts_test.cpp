#include "diagnosis/said_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "diagnosis/cause_book.h"
#include "diagnosis/condition.h"
#include "diagnosis/derivers.h"
#include "diagnosis/diagnosis.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

record::Fact said(const std::string& name) {
  return {name, true, "said: " + name, {record::Origin{0, 3, 40}}};
}

/// Adds what follows from the sentences in `facts`.
void derive_said(FactTable& facts) {
  static const facts::FactGraph graph(said_facts());
  graph.derive({}, facts);
}

TEST(SaidFacts, StandForTheSymptomThatNobodyMeasured) {
  FactTable facts;
  facts.set(said("said.loss.nonfinite"));
  derive_said(facts);
  const record::Fact* symptom = facts.find("loss.nonfinite");
  ASSERT_NE(symptom, nullptr);
  EXPECT_TRUE(core::is_true(symptom->value));
  ASSERT_EQ(symptom->evidence.size(), 1U);
  EXPECT_EQ(symptom->evidence[0].line, 3U);
}

TEST(SaidFacts, GiveWayToMeasurements) {
  FactTable facts;
  facts.set({"loss.nonfinite", false, "no loss.nonfinite", {}});
  facts.set(said("said.loss.nonfinite"));
  derive_said(facts);
  EXPECT_FALSE(core::is_true(facts.find("loss.nonfinite")->value));
}

TEST(SaidFacts, WeighOnlyWhereTheyStandOnWords) {
  FactTable facts;
  facts.set({"grad_norm.zero", true, "grad_norm is 0 in every sample", {}});
  facts.set(said("said.loss.nonfinite"));
  derive_said(facts);
  SeverityOf severities;
  add_said_severities(facts, severities);
  EXPECT_EQ(severities.count("grad_norm.zero"), 0U);
  ASSERT_EQ(severities.count("loss.nonfinite"), 1U);
  EXPECT_EQ(severities["loss.nonfinite"], core::Severity::unstable);
}

TEST(SaidFacts, RulesParseAndNameDeclaredFacts) {
  const std::vector<std::string> declared = declared_facts();
  std::size_t count = 0;
  for (const knowledge::Node& entry : knowledge::file("claims/symptoms.yaml").items()) {
    const std::string fact = knowledge::text_of(entry, "fact");
    EXPECT_TRUE(is_declared(declared, fact)) << fact;
    const auto when = Condition::parse(knowledge::text_of(entry, "when"));
    ASSERT_TRUE(when) << fact;
    for (const std::string& name : when->names())
      EXPECT_TRUE(is_declared(declared, name)) << fact << " asks for " << name;
    ++count;
  }
  EXPECT_GT(count, 20U);
}

TEST(SaidFacts, WhatIsInOrderByNatureIsSaid) {
  FactTable facts;
  facts.set(said("said.asks_normal"));
  EXPECT_FALSE(why_normal(facts));
  facts.set(said("said.about.gan"));
  ASSERT_TRUE(why_normal(facts));
  facts.set(said("loss.nonfinite"));
  EXPECT_FALSE(why_normal(facts)) << "a NaN is never in order";
  const std::vector<std::string> declared = declared_facts();
  for (const knowledge::Node& entry : knowledge::file("claims/normal.yaml").items()) {
    const auto when = Condition::parse(knowledge::text_of(entry, "when"));
    ASSERT_TRUE(when);
    for (const std::string& name : when->names()) EXPECT_TRUE(is_declared(declared, name)) << name;
  }
}

TEST(SaidFacts, TroubleIsWhateverIsMoreThanANote) {
  FactTable calm;
  calm.set(said("said.about.asks_whether_right"));
  calm.set(said("said.loss.falls"));
  derive_said(calm);
  EXPECT_EQ(calm.find("said.trouble"), nullptr);
  EXPECT_NE(calm.find("said.asks_normal"), nullptr);
  EXPECT_TRUE(why_normal(calm)) << "asked, falling, and nothing else";
  FactTable bad;
  bad.set(said("said.about.asks_whether_right"));
  bad.set(said("said.loss.nonfinite"));
  derive_said(bad);
  EXPECT_NE(bad.find("said.trouble"), nullptr);
  EXPECT_EQ(bad.find("said.asks_normal"), nullptr);
  EXPECT_FALSE(why_normal(bad));
}

/// Whoever asks in so many words whether it is normal asks that, whatever else is told.
TEST(SaidFacts, TheQuestionIsHeardBesideTrouble) {
  FactTable facts;
  facts.set(said("said.about.asks_normal"));
  facts.set(said("said.loss.nonfinite"));
  derive_said(facts);
  EXPECT_NE(facts.find("said.trouble"), nullptr);
  EXPECT_NE(facts.find("said.asks_normal"), nullptr);
}

/// Who tells of trouble asks no idle question, whatever was measured.
TEST(SaidFacts, TroubleIsToldEvenAgainstAMeasurement) {
  FactTable facts;
  facts.set({"loss.nonfinite", false, "no loss.nonfinite", {}});
  facts.set(said("said.loss.nonfinite"));
  derive_said(facts);
  EXPECT_NE(facts.find("said.trouble"), nullptr);
}

TEST(SaidFacts, WordsOfALogBesideItsMetricsSayNothing) {
  aplomb::record::Run run;
  run.facts.push_back(said("said.loss.rises"));
  aplomb::record::Series loss;
  loss.name = "loss";
  loss.role = aplomb::record::Role::loss;
  loss.count = 3;
  run.series.push_back(loss);
  EXPECT_EQ(gather_facts(run, {}).find("said.something"), nullptr);
  run.facts.push_back({"text.account", true, "somebody reports", {{0, 0, 0}}});
  EXPECT_NE(gather_facts(run, {}).find("said.something"), nullptr) << "somebody reports it";
}

TEST(SaidFacts, AQuestionAloneSaysNothingOfTheRun) {
  const auto says_something = [](const char* name) {
    aplomb::record::Run run;
    run.facts.push_back(said(name));
    return gather_facts(run, {}).find("said.something") != nullptr;
  };
  EXPECT_TRUE(says_something("said.loss.rises"));
  EXPECT_FALSE(says_something("said.about.asks_normal"));
  EXPECT_FALSE(says_something("said.about.rl"));
}

TEST(SaidFacts, ASuspectIsClearedByStrongRulesOnly) {
  FactTable facts;
  facts.set(said("said.asks_normal"));
  facts.set(said("said.asks_if_in_order"));
  facts.set(said("said.loss.falls"));
  EXPECT_TRUE(why_normal(facts));
  EXPECT_FALSE(why_normal(facts, true));
  facts.set(said("said.about.stairs"));
  EXPECT_TRUE(why_normal(facts, true));
}

TEST(SaidFacts, ARunThatStandsStillIsNotOneThatDoesNotLearn) {
  FactTable still;
  still.set(said("said.run.constant"));
  still.set(said("said.run.hangs"));
  derive_said(still);
  EXPECT_EQ(still.find("error.not-learning-said"), nullptr);
  FactTable flat;
  flat.set(said("said.run.constant"));
  derive_said(flat);
  EXPECT_NE(flat.find("error.not-learning-said"), nullptr);
}

TEST(SaidFacts, StepsAtTheBordersOfPassesAreNormal) {
  FactTable facts;
  for (const char* name : {"said.about.stairs", "said.asks", "said.loss.falls"})
    facts.set(said(name));
  EXPECT_TRUE(why_normal(facts, true));
  facts.set(said("error.overfit-said"));
  EXPECT_FALSE(why_normal(facts, true));
}

/// What each kind of training shows by nature, beside what would make it suspicious all the same.
TEST(SaidFacts, WhatAKindOfTrainingShowsByNatureIsNormal) {
  const auto normal = [](const std::vector<const char*>& told) {
    FactTable facts;
    for (const char* name : told) facts.set(said(name));
    derive_said(facts);
    return why_normal(facts, true).has_value();
  };
  EXPECT_TRUE(normal({"said.about.wonders", "said.about.denoising", "said.loss.oscillates"}));
  EXPECT_FALSE(normal({"said.about.wonders", "said.loss.oscillates"})) << "of another kind";
  EXPECT_FALSE(normal(
      {"said.about.wonders", "said.about.denoising", "said.loss.oscillates", "said.loss.rises"}));
  EXPECT_TRUE(normal({"said.about.policy_learning", "said.about.length_dips"}));
  EXPECT_FALSE(
      normal({"said.about.policy_learning", "said.about.length_dips", "said.accuracy.falls"}));
}

TEST(SaidFacts, WhatIsInOrderLeavesNoCauseLikely) {
  aplomb::record::Run run;
  aplomb::record::Event event;
  event.kind = "wrong-checkpoint";
  event.text = "an older checkpoint";
  run.events.push_back(event);
  std::vector<detectors::Symptom> none;
  const Diagnosis suspected = diagnose_run(run, none);
  ASSERT_FALSE(suspected.causes.empty());
  EXPECT_GT(suspected.causes.front().probability, 0.5);
  EXPECT_TRUE(suspected.in_order.empty());
  for (const char* name : {"said.about.wonders", "said.about.denoising", "said.loss.oscillates"})
    run.facts.push_back(said(name));
  const Diagnosis cleared = diagnose_run(run, none);
  EXPECT_EQ(cleared.standing, Standing::insufficient);
  EXPECT_EQ(cleared.headline, cleared.in_order);
  ASSERT_FALSE(cleared.causes.empty()) << "it stays possible";
  EXPECT_LE(cleared.causes.front().probability, 0.4);
  EXPECT_GE(cleared.unknown_probability, 0.5);
  for (const Experiment& test : cleared.experiments) EXPECT_TRUE(test.separates.empty());
}

TEST(SaidFacts, ImagesAreAugmentedInTrainingAlone) {
  FactTable facts;
  for (const char* name : {"said.about.wonders", "said.about.training_loss_above"})
    facts.set(said(name));
  facts.set({"run.kind", std::string("vision"), "vision model", {}});
  derive_said(facts);
  EXPECT_TRUE(why_normal(facts, true));
  facts.set(said("said.about.split_leak"));
  EXPECT_FALSE(why_normal(facts, true));
}

TEST(SaidFacts, LengthsThatComeBackAreNeitherGrowthNorCollapse) {
  FactTable facts;
  for (const char* name :
       {"said.completion_length.rises", "said.completion_length.falls", "said.about.length_dips"})
    facts.set(said(name));
  derive_said(facts);
  EXPECT_EQ(facts.find("completion_length.growth"), nullptr);
  EXPECT_EQ(facts.find("completion_length.collapse"), nullptr);
}

TEST(SaidFacts, NoHeldOutAnswerRightBesideATrainingThatGoesWell) {
  FactTable facts;
  facts.set(said("said.eval_accuracy.zero"));
  derive_said(facts);
  EXPECT_EQ(facts.find("eval.none_right"), nullptr) << "nothing may be learnt at all";
  facts.set(said("said.loss.falls"));
  derive_said(facts);
  EXPECT_NE(facts.find("eval.none_right"), nullptr);
}

/// The part behind `said.<subject>.<predicate>.` is open in the declaration; here it is checked.
TEST(SaidFacts, CausesAskForPartsThatClaimsHave) {
  std::vector<std::string> parts = {"value", "from", "to", "ratio", "step", "epoch"};
  for (const knowledge::Node& entry : knowledge::file("claims/conditions.yaml").items())
    parts.push_back(knowledge::text_of(entry, "id"));
  const auto check = [&](const std::string& name, const std::string& where) {
    const std::size_t first = name.find('.');
    const std::size_t second = name.find('.', first + 1);
    const std::size_t third = second == std::string::npos ? second : name.find('.', second + 1);
    if (!name.starts_with("said.") || third == std::string::npos) return;
    EXPECT_NE(std::find(parts.begin(), parts.end(), name.substr(third + 1)), parts.end())
        << where << " asks for " << name;
  };
  for (const Cause& cause : cause_book().causes) {
    for (const EvidenceRule& rule : cause.evidence) {
      for (const std::string& name : rule.when.names()) check(name, cause.id);
    }
  }
}

TEST(SaidFacts, ATextWithoutMetricsIsJudgedByItsWords) {
  const CauseBook& book = cause_book();
  FactTable told;
  told.set(said("said.loss.nonfinite"));
  derive_said(told);
  SeverityOf severities;
  add_said_severities(told, severities);
  const Ranking words = weigh_causes(book, told, severities);
  told.set({"run.points", 50.0, "50 samples read", {}});
  const Ranking metrics = weigh_causes(book, told, severities);
  EXPECT_NE(words.unknown_probability, metrics.unknown_probability);
  FactTable asks = told;
  asks.set(said("said.asks_normal"));
  EXPECT_GT(weigh_causes(book, asks, severities).unknown_probability, metrics.unknown_probability);
}

}  // namespace
}  // namespace aplomb::diagnosis
