#include "diagnosis/weigh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace aplomb::diagnosis {
namespace {

Cause cause(std::string id, std::vector<std::string> explains, double prior,
            std::vector<std::pair<const char*, double>> evidence) {
  Cause made;
  made.id = std::move(id);
  made.family = made.id.substr(0, made.id.find('.'));
  made.title = made.id;
  made.explains = std::move(explains);
  made.prior = prior;
  for (const auto& [when, weight] : evidence) {
    made.evidence.push_back({*Condition::parse(when), weight, {}});
  }
  return made;
}

FactTable facts_of(std::vector<record::Fact> list) {
  FactTable facts;
  for (record::Fact& fact : list) facts.set(std::move(fact));
  return facts;
}

TEST(Weigh, TheCauseWithMoreEvidenceComesFirstAndTheUnknownKeepsItsShare) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, -1, {{"hot", 1}}),
                 cause("nan.b", {"loss.nonfinite"}, -1, {{"hot", 1}, {"cold", 2}})};
  const FactTable facts =
      facts_of({{"loss.nonfinite", true, "", {}}, {"hot", true, "", {}}, {"cold", true, "", {}}});
  const Ranking ranking = weigh_causes(book, facts, {{"loss.nonfinite", core::Severity::failed}});
  ASSERT_EQ(ranking.causes.size(), 2U);
  EXPECT_EQ(ranking.causes[0].id, "nan.b");
  // a: -1 + 1 + 1 = 1, b: 3, unknown: 0
  const double all = std::exp(1.0) + std::exp(3.0) + 1;
  EXPECT_NEAR(ranking.causes[0].probability, std::exp(3.0) / all, 1e-9);
  EXPECT_NEAR(ranking.causes[1].probability, std::exp(1.0) / all, 1e-9);
  EXPECT_NEAR(ranking.unknown_probability, 1 / all, 1e-9);
}

TEST(Weigh, AMistakeInTheProgramIsNotRefutedByCurves) {
  CauseBook book;
  book.causes = {cause("stall.a", {"loss.plateau", "code.mistake.half"}, -1,
                       {{"hot", 2}, {"code.mistake.half", 3}})};
  book.causes[0].refuted_by.push_back({*Condition::parse("falls"), "the loss falls"});
  const auto facts = [](bool mistake) {
    std::vector<record::Fact> list = {
        {"loss.plateau", true, "", {}}, {"hot", true, "", {}}, {"falls", true, "", {}}};
    if (mistake) list.push_back({"code.mistake.half", true, "", {}});
    return facts_of(std::move(list));
  };
  const Ranking by_curves = weigh_causes(book, facts(false), {});
  EXPECT_TRUE(by_curves.causes.empty());
  EXPECT_EQ(by_curves.ruled_out.size(), 1U);
  EXPECT_EQ(weigh_causes(book, facts(true), {}).causes.size(), 1U);
}

TEST(Weigh, ACauseWithNothingBeyondItsPriorIsNotListed) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, 0.4, {{"hot", 1}}),
                 cause("nan.b", {}, 0.4, {{"cold", -1}})};
  EXPECT_TRUE(weigh_causes(book, facts_of({{"cold", true, "", {}}}), {}).causes.empty());
}

CauseBook book_of_words() {
  CauseBook book;
  book.calibration.text.words = 2;
  book.calibration.text.floor = -1;
  book.calibration.text.temperature = 1;
  book.calibration.words = 0.5;
  book.calibration.words_most = 1.5;
  book.calibration.words_least = -1;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, -1, {{"hot", 3}}),
                 cause("nan.b", {"loss.nonfinite"}, -1, {{"cold", 1}})};
  return book;
}

TEST(Weigh, WordsMakeACandidateWithinBounds) {
  const CauseBook book = book_of_words();
  const auto log_odds = [&](double nats) {
    const Ranking ranking =
        weigh_causes(book, facts_of({{"words.nan.b", nats, "its words", {}}}), {});
    return ranking.causes.empty() ? std::nan("") : ranking.causes[0].log_odds;
  };
  EXPECT_NEAR(log_odds(2), -1 + 0.5 * 2, 1e-9) << "words stand for the symptom nobody named";
  EXPECT_NEAR(log_odds(40), -1 + 1.5, 1e-9);
  EXPECT_TRUE(std::isnan(log_odds(0.5))) << "a whisper names nobody";
  EXPECT_TRUE(std::isnan(log_odds(-3)));
}

TEST(Weigh, WordsNeverOutweighWhatWasMeasured) {
  const CauseBook book = book_of_words();
  const Ranking ranking = weigh_causes(book,
                                       facts_of({{"loss.nonfinite", true, "", {}},
                                                 {"hot", true, "", {}},
                                                 {"words.nan.a", -40.0, "", {}},
                                                 {"words.nan.b", 1.0, "", {}}}),
                                       {{"loss.nonfinite", core::Severity::failed}});
  ASSERT_EQ(ranking.causes.size(), 2U);
  EXPECT_EQ(ranking.causes[0].id, "nan.a");
  EXPECT_NEAR(ranking.causes[0].log_odds - ranking.causes[1].log_odds, 1.5, 1e-9)
      << "1 + 3 - 1 against 1 + 0.5";
  for (const RankedCause& each : ranking.causes) {
    const auto words =
        std::find_if(each.reasons.begin(), each.reasons.end(),
                     [](const WeighedReason& why) { return why.kind == ReasonKind::words; });
    ASSERT_NE(words, each.reasons.end()) << "told among the reasons";
    EXPECT_EQ(words->weight, each.id == "nan.a" ? -1 : 0.5);
  }
}

/// A report that can be weighed as a whole: every cause has its nats.
FactTable report(std::vector<record::Fact> more, double a, double b, double healthy) {
  FactTable facts = facts_of(std::move(more));
  facts.set({"words.nan.a", a, "", {}});
  facts.set({"words.nan.b", b, "", {{0, 3, 40}}});
  facts.set({"words.healthy", healthy, "", {}});
  facts.set({"text.account", true, "", {}});
  return facts;
}

TEST(Weigh, WhatIsLearntLeadsWhereThereIsNothingElse) {
  const CauseBook book = book_of_words();
  const Ranking ranking = weigh_causes(book, report({{"hot", true, "", {}}}, 0, 3, -5), {});
  ASSERT_EQ(ranking.causes.size(), 2U);
  EXPECT_TRUE(ranking.from_text);
  EXPECT_EQ(ranking.causes[0].id, "nan.b");
  EXPECT_NEAR(ranking.causes[0].log_odds, -1 + 2 * 3, 1e-9) << "the floor, for no rule speaks";
  EXPECT_NEAR(ranking.causes[1].log_odds, -1 - 1 + 3, 1e-9) << "no symptom was seen";
  EXPECT_NEAR(ranking.causes[0].probability,
              std::exp(5.0) / (std::exp(5.0) + std::exp(1.0) + 1 + std::exp(-10.0)), 1e-9);
  ASSERT_FALSE(ranking.causes[0].reasons.empty());
  ASSERT_EQ(ranking.causes[0].reasons[0].evidence.size(), 1U) << "the line that says so";
  EXPECT_EQ(ranking.causes[0].reasons[0].evidence[0].line, 3U);
}

/// The classifier was never taught `nan.c`: with evidence of its own it is as its family reads.
TEST(Weigh, ACauseOfWhichNothingWasLearntIsHeardByItsFamily) {
  CauseBook book = book_of_words();
  book.causes.push_back(cause("nan.c", {}, -1, {{"own", 2}, {"hint", 1}}));
  const auto log_odds = [&](std::vector<record::Fact> more) {
    const Ranking ranking = weigh_causes(book, report(std::move(more), 2.5, 3, -5), {});
    const auto found = std::find_if(ranking.causes.begin(), ranking.causes.end(),
                                    [](const RankedCause& each) { return each.id == "nan.c"; });
    return found == ranking.causes.end() ? std::nan("") : found->log_odds;
  };
  EXPECT_NEAR(log_odds({{"own", true, "", {}}}), -1 + 2 + 2 * (2.5 - 1.1), 1e-9)
      << "where one cause alone is read out of the text, its family is not";
  EXPECT_NEAR(log_odds({{"hint", true, "", {}}}), -1 + 1, 1e-9)
      << "a hint is no evidence of its own";
  book.causes[1].refuted_by.push_back({*Condition::parse("own"), {}});
  EXPECT_NEAR(log_odds({{"own", true, "", {}}}), -1 + 2 + 2 * (3 - 1.1), 1e-9)
      << "what read like the refuted one is another of its family";
}

TEST(Weigh, WhatIsLearntOpensAKindOfTroubleThatNoRuleHeard) {
  CauseBook book = book_of_words();
  book.causes[1].needs = {*Condition::parse("incident.b")};
  const record::Fact no{"incident.b", false, "", {}};
  const record::Fact cold{"cold", true, "", {}};
  Ranking ranking = weigh_causes(book, report({no, cold}, -2, 3, -5), {});
  ASSERT_EQ(ranking.causes.size(), 1U);
  EXPECT_EQ(ranking.causes[0].id, "nan.b");
  for (const WeighedReason& why : ranking.causes[0].reasons)
    EXPECT_EQ(why.kind, ReasonKind::words) << "its rules stay out of the question";
  EXPECT_TRUE(weigh_causes(book, report({no, cold}, -2, 1, -5), {}).causes.empty());
  EXPECT_TRUE(weigh_causes(book, facts_of({no, cold}), {}).causes.empty());
}

TEST(Weigh, ARunInOrderCompetesWithTheCauses) {
  const CauseBook book = book_of_words();
  const Ranking calm = weigh_causes(book, report({}, 1.2, 0, 3), {});
  EXPECT_GT(calm.healthy_probability, 0.9);
  EXPECT_LE(calm.healthy_probability, calm.unknown_probability);
  const Ranking broken = weigh_causes(book, report({}, 3, 0, 0), {});
  EXPECT_LT(broken.healthy_probability, 0.1);
}

TEST(Weigh, UnknownFactsAddNothingAndAbsentOnesSpeakAgainst) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, -1, {{"hot", 1}})};
  const Ranking unknown = weigh_causes(book, facts_of({{"hot", true, "", {}}}), {});
  const Ranking absent =
      weigh_causes(book, facts_of({{"hot", true, "", {}}, {"loss.nonfinite", false, "", {}}}), {});
  ASSERT_EQ(unknown.causes.size(), 1U);
  ASSERT_EQ(absent.causes.size(), 1U);
  EXPECT_DOUBLE_EQ(unknown.causes[0].log_odds, book.calibration.explains_unseen);
  EXPECT_DOUBLE_EQ(absent.causes[0].log_odds, book.calibration.explains_none);
}

TEST(Weigh, WhatExplainsNoFailureIsBehindWhatDoes) {
  CauseBook book;
  book.causes = {cause("overfit.a", {"train.too_perfect"}, 0, {{"hot", 1.5}}),
                 cause("nan.b", {"loss.nonfinite"}, 0, {})};
  const FactTable facts = facts_of({{"loss.nonfinite", true, "", {}},
                                    {"train.too_perfect", true, "", {}},
                                    {"hot", true, "", {}}});
  const auto first = [&](core::Severity nan) {
    const Ranking ranking = weigh_causes(
        book, facts, {{"loss.nonfinite", nan}, {"train.too_perfect", core::Severity::note}});
    return ranking.causes.front().id;
  };
  EXPECT_EQ(first(core::Severity::failed), "nan.b");
  EXPECT_EQ(first(core::Severity::warning), "overfit.a") << "a lesser thing does not decide";
  book.causes.pop_back();
  EXPECT_EQ(first(core::Severity::failed), "overfit.a") << "nobody explains it";
}

TEST(Weigh, AMistakeInTheProgramWeighsMoreThanASymptomThatIsLeftOver) {
  CauseBook book;
  book.causes = {cause("overfit.a", {"train.too_perfect"}, 0, {{"hot", 2.5}}),
                 cause("stall.b", {"code.mistake.x"}, 0, {{"code.mistake.x", 1.5}})};
  const FactTable facts = facts_of({{"code.mistake.x", true, "", {}},
                                    {"train.too_perfect", true, "", {}},
                                    {"hot", true, "", {}}});
  const auto first = [&](core::Severity mistake) {
    return weigh_causes(
               book, facts,
               {{"code.mistake.x", mistake}, {"train.too_perfect", core::Severity::warning}})
        .causes.front()
        .id;
  };
  EXPECT_EQ(first(core::Severity::warning), "stall.b");
  EXPECT_EQ(first(core::Severity::note), "overfit.a") << "what is only noted weighs nothing";
}

TEST(Weigh, WhatLeavesLesserThingsToOthersPaysForItsShareOfThem) {
  CauseBook book;
  book.calibration.leaves_unstable = -0.8;
  book.calibration.leaves_warning = -0.4;
  book.causes = {cause("diverge.a", {"loss.divergence", "grad_norm.high"}, 0, {{"hot", 1}}),
                 cause("diverge.b", {"loss.divergence"}, 0, {{"hot", 1}}),
                 cause("slow.c", {"data.starved"}, 0, {{"hot", 1}})};
  const FactTable facts = facts_of({{"loss.divergence", true, "", {}},
                                    {"grad_norm.high", true, "", {}},
                                    {"data.starved", true, "", {}},
                                    {"hot", true, "", {}}});
  const Ranking ranking = weigh_causes(book, facts,
                                       {{"loss.divergence", core::Severity::unstable},
                                        {"grad_norm.high", core::Severity::warning},
                                        {"data.starved", core::Severity::warning},
                                        {"gate.first_ten", core::Severity::warning},
                                        {"error.anything", core::Severity::unstable}});
  const auto left = [&](const char* id) {
    double sum = 0;
    for (const RankedCause& each : ranking.causes) {
      if (each.id != id) continue;
      for (const WeighedReason& why : each.reasons)
        sum += why.kind == ReasonKind::leaves ? why.weight : 0;
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(left("diverge.a"), 0) << "what slow.c accounts for is another matter";
  EXPECT_DOUBLE_EQ(left("diverge.b"), -0.4 / 2) << "one of the two warnings";
  EXPECT_DOUBLE_EQ(left("slow.c"), 0);
  EXPECT_EQ(ranking.causes.front().id, "diverge.a");
}

TEST(Weigh, ARefutedCauseIsNoCandidateAndIsToldWithTheLine) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, 0, {{"hot", 5}}),
                 cause("nan.b", {"loss.nonfinite"}, -1, {})};
  book.causes[0].refuted_by.push_back(
      {*Condition::parse("optim.lr <= 1e-5"), "the rate of {optim.lr} is small"});
  const record::Fact nan{"loss.nonfinite", true, "", {}};
  const record::Fact hot{"hot", true, "", {}};
  const SeverityOf severities = {{"loss.nonfinite", core::Severity::failed}};
  const Ranking refuted =
      weigh_causes(book, facts_of({nan, hot, {"optim.lr", 1e-6, "", {{0, 4, 40}}}}), severities);
  ASSERT_EQ(refuted.causes.size(), 1U);
  EXPECT_EQ(refuted.causes[0].id, "nan.b");
  ASSERT_EQ(refuted.ruled_out.size(), 1U);
  EXPECT_EQ(refuted.ruled_out[0].id, "nan.a");
  EXPECT_EQ(refuted.ruled_out[0].because, "the rate of 1e-06 is small");
  ASSERT_EQ(refuted.ruled_out[0].evidence.size(), 1U);
  EXPECT_EQ(refuted.ruled_out[0].evidence[0].line, 4U);
  const Ranking possible =
      weigh_causes(book, facts_of({nan, hot, {"optim.lr", 1.0, "", {}}}), severities);
  EXPECT_EQ(possible.causes.front().id, "nan.a");
  EXPECT_TRUE(possible.ruled_out.empty());
  EXPECT_TRUE(weigh_causes(book, facts_of({nan, hot}), severities).ruled_out.empty())
      << "what is not known refutes nothing";
}

TEST(Weigh, WhatNobodyWouldHaveThoughtOfIsNotToldAsRuledOut) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, 0, {{"hot", 1}})};
  book.causes[0].refuted_by.push_back({*Condition::parse("cold"), ""});
  EXPECT_TRUE(weigh_causes(book, facts_of({{"cold", true, "", {}}}), {}).ruled_out.empty());
}

TEST(Weigh, AReasonSaysWhetherItStandsOnWords) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, 0,
                       {{"said.works_with.lower_lr", 1}, {"error.loss-exploded-said", 1}})};
  const FactTable words = facts_of({{"said.works_with.lower_lr", true, "", {}},
                                    {"error.loss-exploded-said", true, "", {}},
                                    {"said.as.loss.nonfinite", true, "", {}},
                                    {"loss.nonfinite", true, "", {}}});
  EXPECT_TRUE(stands_on_words(weigh_causes(book, words, {}).causes.front()));
  const FactTable measured =
      facts_of({{"said.works_with.lower_lr", true, "", {}}, {"loss.nonfinite", true, "", {}}});
  EXPECT_FALSE(stands_on_words(weigh_causes(book, measured, {}).causes.front()));
}

TEST(Weigh, ASecondFaultDoesNotHideTheFirst) {
  CauseBook book;
  book.causes = {cause("nan.a", {"loss.nonfinite"}, 0, {{"hot", 2}}),
                 cause("slow.b", {"data.starved"}, 0, {{"cold", 2}})};
  const FactTable facts = facts_of({{"loss.nonfinite", true, "", {}},
                                    {"data.starved", true, "", {}},
                                    {"hot", true, "", {}},
                                    {"cold", true, "", {}}});
  const Ranking ranking = weigh_causes(
      book, facts,
      {{"loss.nonfinite", core::Severity::failed}, {"data.starved", core::Severity::warning}});
  ASSERT_EQ(ranking.causes.size(), 2U);
  EXPECT_EQ(ranking.causes[0].id, "nan.a");
  EXPECT_NEAR(ranking.causes[0].probability, std::exp(3.0) / (std::exp(3.0) + 1), 1e-9);
  EXPECT_LE(ranking.causes[1].probability, ranking.causes[0].probability);
}

TEST(Weigh, WhatIsRuledOutIsNotConsidered) {
  CauseBook book;
  book.causes = {cause("rl.a", {}, 0, {{"hot", 2}})};
  book.causes[0].needs.push_back(*Condition::parse("run.kind == rl"));
  const record::Fact hot{"hot", true, "", {}};
  EXPECT_EQ(weigh_causes(book, facts_of({hot}), {}).causes.size(), 1U);
  EXPECT_TRUE(weigh_causes(book, facts_of({hot, {"run.kind", std::string("llm"), "", {}}}), {})
                  .causes.empty());
}

TEST(Weigh, ReasonsCarryTheFactsWordsAndOrigins) {
  CauseBook book;
  book.causes = {cause("nan.a", {}, 0, {{"absent || hot", 2}})};
  const Ranking ranking = weigh_causes(
      book, facts_of({{"hot", true, "it is hot", {{0, 7, 70}}}, {"absent", false, "no", {}}}), {});
  ASSERT_EQ(ranking.causes.size(), 1U);
  ASSERT_EQ(ranking.causes[0].reasons.size(), 1U);
  const WeighedReason& why = ranking.causes[0].reasons[0];
  EXPECT_EQ(why.because, "it is hot");
  EXPECT_EQ(why.when, "absent || hot");
  ASSERT_EQ(why.evidence.size(), 1U);
  EXPECT_EQ(why.evidence[0].line, 7U);
}

TEST(FillIn, NumbersStandAsPeopleWriteThem) {
  const FactTable facts = facts_of({{"model.vocab_size", 128256.0, "", {}},
                                    {"hardware.compute_capability", 7.0, "", {}},
                                    {"lr.peak", 0.00002, "", {}},
                                    {"hardware.memory_bytes", 25769803776.0, "", {}}});
  EXPECT_EQ(fill_in("{model.vocab_size} words", facts), "128256 words");
  EXPECT_EQ(fill_in("capability {hardware.compute_capability}.", facts), "capability 7.0.");
  EXPECT_EQ(fill_in("at {lr.peak}", facts), "at 2e-05");
  EXPECT_EQ(fill_in("{hardware.memory_bytes} bytes", facts), "2.577e+10 bytes");
}

TEST(FillIn, AClaimIsMadeOnlyWhereItsFactsHold) {
  const std::vector<Sentence> sentences = {
      {{}, "The rate is {lr.peak}."},
      {{*Condition::parse("lr.over_usual >= 2")}, "That is {lr.over_usual} times the usual."},
      {{}, "The batch is {batch.global}."}};
  EXPECT_EQ(
      fill_in(sentences, facts_of({{"lr.peak", 0.1, "", {}}, {"lr.over_usual", 4.0, "", {}}})),
      "The rate is 0.1. That is 4 times the usual.");
  EXPECT_EQ(
      fill_in(sentences, facts_of({{"lr.peak", 0.1, "", {}}, {"lr.over_usual", 1.0, "", {}}})),
      "The rate is 0.1.");
  EXPECT_EQ(fill_in(sentences, facts_of({{"lr.over_usual", 1.0, "", {}}})), "");
}

TEST(FillIn, ReplacesFactsAndDropsSentencesAboutUnknownOnes) {
  const FactTable facts =
      facts_of({{"lr.peak", 2e-4, "", {}}, {"optim.name", std::string("adamw"), "", {}}});
  EXPECT_EQ(
      fill_in("The peak is {lr.peak}. The batch is {batch.global}. With {optim.name}.", facts),
      "The peak is 0.0002. With adamw.");
  EXPECT_EQ(fill_in("No number here.", facts), "No number here.");
  EXPECT_EQ(fill_in("An open {brace", facts), "An open {brace");
}

}  // namespace
}  // namespace aplomb::diagnosis
