#include "diagnosis/standing.h"

#include <gtest/gtest.h>

#include "diagnosis/experiments.h"
#include "record/run_builder.h"

namespace aplomb::diagnosis {
namespace {

aplomb::record::Run run_with_loss(const std::vector<double>& values) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log", "text-log", 0);
  const record::SeriesId loss =
      build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    build.append(loss, static_cast<std::int64_t>(i), values[i], 0, 0);
  }
  return run;
}

detectors::Symptom symptom(const char* id, core::Severity severity) {
  detectors::Symptom made;
  made.id = id;
  made.severity = severity;
  made.summary = id;
  return made;
}

Ranking ranking(std::vector<std::pair<const char*, double>> causes) {
  Ranking made;
  for (const auto& [id, probability] : causes) {
    RankedCause cause;
    cause.id = id;
    cause.title = id;
    cause.probability = probability;
    made.causes.push_back(std::move(cause));
  }
  return made;
}

const std::vector<double> k_falling = {3, 2.8, 2.6, 2.5, 2.4, 2.3, 2.2, 2.1, 2.0, 1.9, 1.9, 1.8};

HealthEvidence shown() { return {{{"the loss falls", {}}}, {}, {}}; }

WeighedReason reason(ReasonKind kind, double weight, std::string fact = {}) {
  WeighedReason made;
  made.kind = kind;
  made.weight = weight;
  made.fact = std::move(fact);
  return made;
}

TEST(Standing, HealthIsEarnedAndNotAssumed) {
  const aplomb::record::Run run = run_with_loss(k_falling);
  EXPECT_EQ(judge_standing(run, {}, {}, shown()), Standing::healthy);
  EXPECT_EQ(judge_standing(run, {}, {}, {}), Standing::insufficient)
      << "that nothing wrong was found is no sign of health";
  HealthEvidence doubtful = shown();
  doubtful.against.push_back({"the held-out loss does not improve", {}});
  EXPECT_EQ(judge_standing(run, {}, {}, doubtful), Standing::insufficient);
}

TEST(Standing, NothingReadIsNotHealthy) {
  EXPECT_EQ(judge_standing({}, {}, {}, {}), Standing::insufficient);
}

TEST(Standing, TheWorstSymptomDecides) {
  const aplomb::record::Run run = run_with_loss(k_falling);
  EXPECT_EQ(
      judge_standing(
          run, {symptom("a", core::Severity::warning), symptom("b", core::Severity::unstable)}, {},
          shown()),
      Standing::unstable);
  EXPECT_EQ(judge_standing(run, {symptom("a", core::Severity::failed)}, ranking({{"nan.a", 0.1}}),
                           shown()),
            Standing::failed);
  EXPECT_EQ(judge_standing(run, {symptom("a", core::Severity::note)}, {}, shown()),
            Standing::healthy);
}

TEST(Standing, ALikelyCauseWithoutASymptomIsAWarning) {
  const aplomb::record::Run run = run_with_loss(k_falling);
  EXPECT_EQ(judge_standing(run, {}, ranking({{"slow.a", 0.7}}), shown()), Standing::warning);
  EXPECT_EQ(judge_standing(run, {}, ranking({{"slow.a", 0.3}}), shown()), Standing::healthy);
}

TEST(Standing, WordsAloneAreNoTroubleAndNoHealth) {
  Ranking words = ranking({{"slow.a", 0.7}});
  words.causes[0].reasons = {reason(ReasonKind::words, 1.5), reason(ReasonKind::rule, -1)};
  EXPECT_EQ(judge_standing(run_with_loss(k_falling), {}, words, shown()), Standing::healthy);
  EXPECT_EQ(judge_standing({}, {}, words, {}), Standing::insufficient);
  words.causes[0].reasons.push_back(reason(ReasonKind::rule, 0.5));
  EXPECT_EQ(judge_standing(run_with_loss(k_falling), {}, words, shown()), Standing::warning);
}

TEST(Standing, ManySamplesOutweighASettingButNotWhatIsPrinted) {
  const aplomb::record::Run run = run_with_loss(std::vector<double>(40, 1.0));
  Ranking likely = ranking({{"slow.a", 0.7}});
  likely.causes[0].reasons = {reason(ReasonKind::rule, 2)};
  EXPECT_EQ(judge_standing(run, {}, likely, shown()), Standing::healthy);
  likely.causes[0].reasons = {reason(ReasonKind::explains, 1, "error.anything")};
  EXPECT_EQ(judge_standing(run, {}, likely, shown()), Standing::warning);
}

TEST(Standing, AReportNeedsALikelierCauseThanMetricsDo) {
  Ranking told = ranking({{"slow.a", 0.55}});
  EXPECT_EQ(judge_standing({}, {}, told, {}), Standing::warning);
  told.from_text = true;
  EXPECT_EQ(judge_standing({}, {}, told, {}), Standing::insufficient);
  EXPECT_EQ(write_headline({}, {}, told, {}, Standing::insufficient),
            "What is told does not decide. Perhaps: slow.a.");
  told.causes[0].probability = 0.65;
  EXPECT_EQ(judge_standing({}, {}, told, {}), Standing::warning);
}

TEST(Standing, AQuestionAboutARunInOrderIsAnsweredSoAndStaysUnclear) {
  Ranking calm = ranking({{"slow.a", 0.2}});
  calm.healthy_probability = 0.95;
  EXPECT_EQ(judge_standing({}, {}, calm, {}), Standing::insufficient) << "words show nothing";
  EXPECT_EQ(judge_standing({}, {symptom("a", core::Severity::failed)}, calm, {}), Standing::failed);
  EXPECT_EQ(write_headline({}, {}, calm, {}, Standing::insufficient),
            "Probably nothing wrong, by what is told: reports like this one were about runs in "
            "order. Metrics would show it.");
}

TEST(Headline, SaysWhatShowsHealthOrWhatKeepsItAway) {
  const aplomb::record::Run run = run_with_loss(k_falling);
  EXPECT_EQ(write_headline(run, {}, {}, shown(), Standing::healthy),
            "The run learns, and nothing speaks against it: the loss falls.");
  HealthEvidence against = shown();
  against.against.push_back({"the held-out loss rises", {}});
  EXPECT_EQ(write_headline(run, {}, {}, against, Standing::insufficient),
            "No cause stands out, and the run is not in order: the held-out loss rises.");
  EXPECT_EQ(write_headline(run, {}, {}, {{}, {}, {{"three losses are too few", {}}}},
                           Standing::insufficient),
            "Nothing wrong was found, and nothing shows that the run learns: three losses are too "
            "few.");
}

TEST(Headline, NamesWhatIsSeenAndHowSureTheCauseIs) {
  const aplomb::record::Run run = run_with_loss(k_falling);
  const std::vector<detectors::Symptom> symptoms = {
      symptom("loss jumps", core::Severity::unstable)};
  EXPECT_EQ(write_headline(run, symptoms, ranking({{"bad batch", 0.9}}), {}, Standing::unstable),
            "loss jumps. Most likely: bad batch.");
  EXPECT_EQ(write_headline(run, symptoms, ranking({{"bad batch", 0.2}}), {}, Standing::unstable),
            "loss jumps. Perhaps: bad batch.");
}

CauseBook book_of_two() {
  CauseBook book;
  for (const char* id : {"nan.a", "nan.b"}) {
    Cause cause;
    cause.id = id;
    book.causes.push_back(cause);
  }
  book.causes[0].experiments.push_back({{"dear", "reads", {"nan.a", "nan.b"}}, 30});
  book.causes[1].experiments.push_back({{"cheap", "reads", {"nan.b", "nan.a"}}, 2});
  book.causes[0].experiments.push_back(
      {{"free, but of another pair", "reads", {"nan.a", "nan.c"}}, 0});
  book.next_steps.push_back(
      {*Condition::parse("unseen(loss.points)"), {"ask for the log", "reads", {}}});
  return book;
}

TEST(Experiments, TheCheapestThatSeparatesTheFirstTwoComesFirst) {
  const std::vector<Experiment> chosen = choose_experiments(
      book_of_two(), {}, ranking({{"nan.a", 0.4}, {"nan.b", 0.3}}), Standing::failed);
  ASSERT_GE(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].text, "cheap");
  EXPECT_EQ(chosen[1].text, "ask for the log");
}

TEST(Experiments, NoneWhereTheCauseIsCertainOrTheRunIsHealthy) {
  EXPECT_TRUE(
      choose_experiments(book_of_two(), {}, ranking({{"nan.a", 0.97}}), Standing::failed).empty());
  EXPECT_TRUE(choose_experiments(book_of_two(), {}, {}, Standing::healthy).empty());
}

TEST(Experiments, WithoutACauseItSaysWhatToAskFor) {
  const std::vector<Experiment> chosen =
      choose_experiments(book_of_two(), {}, {}, Standing::insufficient);
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].text, "ask for the log");
}

TEST(Standing, AKilledRunThatWasResumedAndWentOnIsNoFailure) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log", "text-log", 0);
  const record::SeriesId loss =
      build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (std::int64_t i = 0; i < 40; ++i) {
    build.append(loss, i, 3 - 0.05 * static_cast<double>(i), static_cast<std::uint64_t>(i) + 1,
                 static_cast<std::uint64_t>(i) * 100 + 1);
  }
  const auto tell = [&](const char* kind, core::Severity severity, std::uint64_t offset) {
    record::Event event;
    event.kind = kind;
    event.severity = severity;
    event.origin = {source, offset / 100 + 1, offset};
    build.event(std::move(event));
  };
  tell("process-killed", core::Severity::failed, 1950);
  EXPECT_EQ(severity_of(run, run.events[0]), core::Severity::warning);
  tell("resuming", core::Severity::note, 1980);
  EXPECT_EQ(severity_of(run, run.events[0]), core::Severity::note);
  EXPECT_EQ(judge_standing(run, {}, {}, shown()), Standing::healthy);
  tell("process-killed", core::Severity::failed, 3990);
  EXPECT_EQ(judge_standing(run, {}, {}, shown()), Standing::failed);
}

}  // namespace
}  // namespace aplomb::diagnosis
