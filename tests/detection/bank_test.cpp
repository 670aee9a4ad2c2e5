#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A run with something of everything: NaN, Inf, spikes, a restart, evaluations.
RunOf eventful() {
  Draw draw(1);
  auto loss =
      curve(700, [](double i) { return power_law(i, 6, 2); }, [&] { return 0.05 * draw.normal(); });
  loss[300] = 9;
  loss[400] = k_nan;
  auto norm = curve(700, [](double) { return 0.6; }, [&] { return 0.05 * draw.normal(); });
  norm[299] = 14;
  norm[400] = k_inf;
  RunOf run;
  run.loss(loss).grad_norm(norm);
  run.loss(std::vector<double>(loss.begin() + 500, loss.begin() + 650), 1, 600);
  run.with("eval_loss", record::Role::eval_loss, {3.5, 3.0, 2.8, 2.7}, 150, 100);
  return run;
}

TEST(Bank, FrameByFrameSaysTheSameAsTheWholeRun) {
  RunOf run;
  Draw draw(3);
  auto loss =
      curve(500, [](double i) { return power_law(i, 6, 2); }, [&] { return 0.05 * draw.normal(); });
  auto norm = curve(500, [](double) { return 0.6; }, [&] { return 0.05 * draw.normal(); });
  loss[350] = 8;
  norm[349] = 9;
  loss[420] = k_nan;
  run.loss(loss).grad_norm(norm);
  const auto whole = run.detect();
  detectors::RunContext context;
  context.series_names = {"loss", "grad_norm"};
  detection::DetectorBank bank(context);
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const detectors::Reading readings[]{
        {record::Role::loss, 0, loss[i], run.run().series[0].origin(i)},
        {record::Role::grad_norm, 1, norm[i], run.run().series[1].origin(i)}};
    bank.observe({static_cast<std::int64_t>(i), 0, readings});
  }
  EXPECT_EQ(told(whole), told(bank.finish()));
}

TEST(Bank, SymptomsComeMostSevereFirst) {
  const auto symptoms = eventful().detect();
  for (std::size_t i = 1; i < symptoms.size(); ++i)
    EXPECT_GE(symptoms[i - 1].severity, symptoms[i].severity);
}

TEST(Bank, EverySymptomIsDeclaredByItsDetectorAndEvidenceIsBounded) {
  std::set<std::string> declared;
  for (const auto& detector : detection::make_detectors())
    declared.insert(detector->spec().symptoms.begin(), detector->spec().symptoms.end());
  for (const detectors::Symptom& symptom : eventful().detect()) {
    EXPECT_EQ(declared.count(symptom.id), 1U) << symptom.id;
    EXPECT_LE(symptom.evidence.size(), 8U);
    EXPECT_FALSE(symptom.summary.empty());
  }
}

TEST(Bank, EverySpecIsComplete) {
  std::set<std::string> slugs;
  for (const auto& detector : detection::make_detectors()) {
    const detectors::DetectorSpec& spec = detector->spec();
    EXPECT_TRUE(slugs.insert(spec.slug).second) << spec.slug;
    for (const std::string* text : {&spec.summary, &spec.why_bad, &spec.example})
      EXPECT_FALSE(text->empty()) << spec.slug;
    EXPECT_FALSE(spec.inputs.empty() && spec.parts.empty()) << spec.slug;
    EXPECT_FALSE(spec.symptoms.empty()) << spec.slug;
    for (const detectors::Parameter& parameter : spec.parameters) {
      EXPECT_FALSE(parameter.source.empty()) << spec.slug << " " << parameter.name;
      EXPECT_LE(parameter.least, parameter.value) << spec.slug << " " << parameter.name;
      EXPECT_GE(parameter.most, parameter.value) << spec.slug << " " << parameter.name;
    }
  }
}

/// Members of all rosters, in the order in which they are made.
std::vector<std::string> roster_names() {
  std::vector<std::string> names;
#define APLOMB_MEMBER(name) names.emplace_back(#name);
#include "gradient_detectors/roster.def"
#include "loss_detectors/roster.def"
#include "policy_detectors/roster.def"
#include "run_detectors/roster.def"
#undef APLOMB_MEMBER
  std::sort(names.begin(), names.end());
  return names;
}

std::string head_of(const std::string& id) { return id.substr(0, id.find_first_of("._")); }

TEST(Bank, ADetectorIsNamedAsItsFileAndBeginsAsASymptomOfItsOwn) {
  std::vector<std::string> files;
  for (const auto& detector : detection::make_detectors()) {
    const detectors::DetectorSpec& spec = detector->spec();
    files.push_back(spec.slug);
    std::replace(files.back().begin(), files.back().end(), '.', '_');
    std::set<std::string> heads;
    for (const std::string& symptom : spec.symptoms) heads.insert(head_of(symptom));
    EXPECT_EQ(heads.count(head_of(spec.slug)), 1U) << spec.slug;
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, roster_names());
}

TEST(Bank, EvaluationsKnownByTheirEpochStandWhereTheyWereWritten) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log", "text-log", 0);
  const record::SeriesId loss =
      build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  const record::SeriesId eval =
      build.series(source, "eval_loss", "val", record::Role::eval_loss, record::StepKind::epoch);
  std::uint64_t offset = 0;
  for (int step = 0; step < 400; ++step) {
    build.append(loss, step, 2.5 - 0.005 * step, 1, ++offset);
    // Best in the second of four epochs, while training goes on falling.
    if (step % 100 == 99) build.append(eval, step / 100 + 1, step == 199 ? 1.5 : 2.0, 1, ++offset);
  }
  const auto symptoms = aplomb::detection::detect(run);
  EXPECT_EQ(number(find(symptoms, "eval.overfit"), "best_step"), 199) << told(symptoms);
}

TEST(Bank, AnEmptyRunAndARunOfNaNOnlyDoNotTripIt) {
  EXPECT_TRUE(aplomb::detection::detect(aplomb::record::Run{}).empty());
  RunOf run;
  run.loss(std::vector<double>(100, k_nan)).grad_norm(std::vector<double>(100, k_inf));
  run.with("lr", record::Role::lr, std::vector<double>(100, k_nan));
  EXPECT_EQ(worst(run.detect()), core::Severity::failed);
}

TEST(Bank, ExtremeValuesAndStepsDoNotTripIt) {
  RunOf run;
  run.loss({1e308, -1e308, 5e-324, 0, -0.0, 1e300, 2, 2, 2, 2, 2, 2, 1e308, 1e308},
           std::int64_t{1} << 58);
  run.grad_norm({1e308, 0, 5e-324, 1e-300, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, std::int64_t{1} << 58);
  run.detect();
}

TEST(Bank, LevelsAreNotComparedAcrossStages) {
  std::vector<double> losses;
  std::vector<double> digits;
  for (int i = 0; i < 40; ++i) losses.push_back(1.2 * std::exp(-i / 5.0) + 0.0002);
  for (int i = 0; i < 60; ++i) losses.push_back(1.7 * std::exp(-i / 12.0) + 0.05);
  for (std::size_t i = 0; i < losses.size(); ++i) digits.push_back(i < 40 ? 1 : 2);
  const auto plain = RunOf().loss(losses, 10).detect();
  EXPECT_EQ(worst(plain), core::Severity::unstable) << told(plain);
  const auto staged =
      RunOf().loss(losses, 10).with("digits", record::Role::other, digits, 10).detect();
  EXPECT_EQ(worst(staged), core::Severity::note) << told(staged);
  EXPECT_TRUE(has(staged, "run.healthy"));
}

TEST(Bank, AStageThatDivergesIsStillAnAlarm) {
  std::vector<double> losses;
  std::vector<double> digits;
  for (int i = 0; i < 40; ++i) losses.push_back(1.2 * std::exp(-i / 5.0) + 0.0002);
  for (int i = 0; i < 80; ++i)
    losses.push_back(i < 40 ? 1.7 * std::exp(-i / 12.0) + 0.05 : 1.5 + 0.05 * i);
  for (std::size_t i = 0; i < losses.size(); ++i) digits.push_back(i < 40 ? 1 : 2);
  const auto staged =
      RunOf().loss(losses, 10).with("digits", record::Role::other, digits, 10).detect();
  EXPECT_TRUE(has(staged, "loss.divergence")) << told(staged);
}

}  // namespace
}  // namespace aplomb::testing
