/// HEALTHY is a finding: what earns it, kind of run by kind of run, and what does not. The series
/// are made; detectors, facts and causes judge them as they judge a real run.

#include "diagnosis/health.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "detection/detect.h"
#include "detectors/detector.h"
#include "diagnosis/cause_book.h"
#include "record/run_builder.h"

namespace aplomb::diagnosis {
namespace {

using record::Role;

/// A run made of curves over its records.
class Made {
 public:
  explicit Made(std::size_t records, unsigned seed = 1) : records_(records), random_(seed) {
    source_ = build_.open("train.log", "text-log", 0);
  }

  Made& with(const char* name, Role role, const std::function<double(double)>& level,
             double sigma = 0, std::size_t every = 1) {
    const record::SeriesId id =
        build_.series(source_, name, name, role, record::StepKind::explicit_);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < records_; i += every) {
      const double at =
          records_ > 1 ? static_cast<double>(i) / static_cast<double>(records_ - 1) : 0;
      build_.append(id, static_cast<std::int64_t>(10 * (i + 1)),
                    level(at) + sigma * normal(random_), i + 1, 100 * i);
    }
    return *this;
  }

  Made& event(const char* kind, core::Severity severity) {
    record::Event made;
    made.kind = kind;
    made.severity = severity;
    made.text = kind;
    made.origin = {source_, 9999, 999999};
    build_.event(std::move(made));
    return *this;
  }

  Diagnosis diagnosis() {
    std::vector<detectors::Symptom> symptoms = detection::detect(run_);
    return diagnose_run(run_, symptoms);
  }

 private:
  std::size_t records_;
  std::mt19937 random_;
  record::Run run_;
  record::RunBuilder build_{run_};
  record::SourceId source_ = 0;
};

std::function<double(double)> decay(double from, double to, double speed = 3) {
  return [=](double at) { return to + (from - to) * std::exp(-speed * at); };
}
std::function<double(double)> line(double from, double to) {
  return [=](double at) { return from + (to - from) * at; };
}
std::function<double(double)> constant(double value) {
  return [=](double) { return value; };
}

#define EXPECT_STANDING(made, wanted)                                                         \
  do {                                                                                        \
    const Diagnosis told = (made).diagnosis();                                                \
    EXPECT_EQ(told.standing, wanted)                                                          \
        << told.headline << (told.causes.empty() ? "" : " first cause " + told.causes[0].id); \
  } while (false)

// --- what earns it

TEST(Health, ASupervisedRunWhoseLossFalls) {
  EXPECT_STANDING(Made(60).with("loss", Role::loss, decay(2.3, 0.9), 0.05), Standing::healthy);
}

TEST(Health, AShortSmokeRunThatLearnsClearly) {
  EXPECT_STANDING(Made(6).with("loss", Role::loss, decay(2.3, 0.9), 0.02), Standing::healthy);
}

TEST(Health, ANoisyRunWithASmallGain) {
  EXPECT_STANDING(Made(400).with("loss", Role::loss, line(1.3, 1.05), 0.2), Standing::healthy);
}

TEST(Health, AFineTuneWhoseHeldOutLossTellsOfIt) {
  EXPECT_STANDING(Made(32)
                      .with("loss", Role::loss, decay(6.1, 5.5, 30), 0.03)
                      .with("eval_loss", Role::eval_loss, line(5.6, 5.47), 0.002, 6),
                  Standing::healthy);
}

TEST(Health, HeldOutScoresAlone) {
  EXPECT_STANDING(Made(20).with("eval_accuracy", Role::eval_accuracy, decay(0.3, 0.9), 0.01),
                  Standing::healthy);
  EXPECT_STANDING(Made(20).with("eval_loss", Role::eval_loss, decay(2.0, 0.8), 0.01),
                  Standing::healthy);
}

TEST(Health, ARegressionOfLargeNumbers) {
  EXPECT_STANDING(Made(40).with("loss", Role::loss, decay(9.1e4, 2.2e3, 4), 300),
                  Standing::healthy);
}

TEST(Health, APolicyWhoseRewardRises) {
  EXPECT_STANDING(Made(60)
                      .with("loss", Role::loss, constant(0.01), 0.05)
                      .with("reward", Role::reward, line(0.2, 0.8), 0.06)
                      .with("reward_std", Role::reward_std, constant(0.3), 0.02)
                      .with("kl", Role::kl, line(0, 0.05), 0.002)
                      .with("grad_norm", Role::grad_norm, constant(0.4), 0.05),
                  Standing::healthy);
}

TEST(Health, ACurriculumThatAnnouncesItsStages) {
  const auto stages = [](double at) { return at < 0.5 ? 1.0 : 2.0; };
  const auto loss = [](double at) {
    return at < 0.5 ? 1.2 * std::exp(-20 * at) : 1.7 * std::exp(-12 * (at - 0.5));
  };
  EXPECT_STANDING(
      Made(64).with("loss", Role::loss, loss, 0.002).with("digits", Role::other, stages),
      Standing::healthy);
}

// --- what does not

TEST(Health, NothingIsNotHealthy) {
  EXPECT_STANDING(Made(0), Standing::insufficient);
  EXPECT_STANDING(Made(2).with("loss", Role::loss, line(2.3, 2.1)), Standing::insufficient);
  EXPECT_STANDING(Made(40).with("step_time_s", Role::step_time_s, constant(0.5), 0.01),
                  Standing::insufficient);
}

TEST(Health, AFlatLossIsNotHealthy) {
  EXPECT_STANDING(Made(15).with("loss", Role::loss, constant(0.7), 0.02), Standing::insufficient);
}

TEST(Health, ALossThatFellToTheFrequenciesAndStayedIsNotHealthy) {
  const Diagnosis told = Made(50)
                             .with("loss", Role::loss, decay(7.3, 6.12, 40), 0.03)
                             .with("eval_loss", Role::eval_loss, constant(6.11), 0.012, 10)
                             .diagnosis();
  EXPECT_NE(told.standing, Standing::healthy);
}

TEST(Health, AHeldOutLossThatDoesNotImproveIsNotHealthy) {
  const Diagnosis told = Made(30)
                             .with("loss", Role::loss, line(2.08, 1.95), 0.03)
                             .with("eval_loss", Role::eval_loss, line(2.084, 2.102), 0.001, 10)
                             .diagnosis();
  EXPECT_NE(told.standing, Standing::healthy);
  EXPECT_FALSE(told.health.against.empty());
}

TEST(Health, AScoreThatIsThatOfGuessingIsNotHealthy) {
  EXPECT_NE(Made(12)
                .with("loss", Role::loss, line(2.08, 1.98), 0.01)
                .with("eval_loss", Role::eval_loss, constant(2.085), 0.004)
                .with("eval_accuracy", Role::eval_accuracy, constant(0.126), 0.004)
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, AHeldOutLossFarAboveTheTrainingLossIsNotHealthy) {
  EXPECT_NE(Made(10)
                .with("loss", Role::loss, decay(0.5, 0.001, 9))
                .with("eval_loss", Role::eval_loss, constant(1.38), 0.1)
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, APolicyWhoseRewardDoesNotRiseIsNotHealthyWhateverItsLossDoes) {
  EXPECT_NE(Made(60)
                .with("loss", Role::loss, line(0.5, 0.1), 0.01)
                .with("reward", Role::reward, constant(0.3), 0.05)
                .with("reward_std", Role::reward_std, constant(0.3), 0.02)
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, ARunThatWasEndedIsNeverHealthy) {
  for (const core::Severity severity : {core::Severity::failed, core::Severity::unstable}) {
    EXPECT_NE(Made(60)
                  .with("loss", Role::loss, decay(2.3, 0.9), 0.05)
                  .event("process-killed", severity)
                  .diagnosis()
                  .standing,
              Standing::healthy);
  }
}

TEST(Health, AnAccuracyOfNothingIsNotHealthy) {
  EXPECT_NE(Made(20)
                .with("loss", Role::loss, line(2.3, 1.5), 0.02)
                .with("accuracy", Role::accuracy, constant(0))
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, MemoryThatGrowsIsNotHealthy) {
  EXPECT_NE(Made(60)
                .with("loss", Role::loss, decay(2.3, 0.9), 0.05)
                .with("memory", Role::memory_bytes, line(3e8, 3.8e9), 1e6)
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, FewRecordsWithAJumpAreAJump) {
  std::size_t record = 0;
  const double losses[] = {2.3, 1.9, 1.6, 1.4, 1.3, 6.8, 7.1, 6.9};
  EXPECT_NE(Made(8)
                .with("loss", Role::loss, [&](double) { return losses[record++]; })
                .diagnosis()
                .standing,
            Standing::healthy);
}

TEST(Health, AnUnclearRunSaysWhatIsMissing) {
  const Diagnosis scrap = Made(3).with("loss", Role::loss, line(2.3, 2.1)).diagnosis();
  ASSERT_FALSE(scrap.health.missing.empty());
  EXPECT_NE(scrap.headline.find(scrap.health.missing.front().because), std::string::npos);
}

TEST(Health, TheKnowledgeParsesAndNamesDeclaredFacts) {
  EXPECT_TRUE(health_mistakes().empty()) << health_mistakes().front();
  const std::vector<std::string> declared = declared_facts();
  for (const std::string& name : health_facts())
    EXPECT_TRUE(is_declared(declared, name)) << "health.yaml asks for " << name;
}

TEST(Health, WhatIsExplainedBecomesANote) {
  FactTable facts;
  facts.set({"loss.rises_with_stage", true, "", {}});
  detectors::Symptom setback;
  setback.id = "loss.setback";
  setback.severity = core::Severity::unstable;
  detectors::Symptom nan = setback;
  nan.id = "loss.nonfinite";
  std::vector<detectors::Symptom> symptoms = {setback, nan};
  lower_explained(facts, symptoms);
  EXPECT_EQ(symptoms[0].severity, core::Severity::note);
  EXPECT_NE(symptoms[0].summary.find("announced"), std::string::npos);
  EXPECT_EQ(symptoms[1].severity, core::Severity::unstable) << "no stage makes a loss NaN";
  std::vector<detectors::Symptom> unexplained = {setback};
  lower_explained({}, unexplained);
  EXPECT_EQ(unexplained[0].severity, core::Severity::unstable);
}

}  // namespace
}  // namespace aplomb::diagnosis
