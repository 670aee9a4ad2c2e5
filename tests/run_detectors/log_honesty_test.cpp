#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> falling(std::size_t n) {
  Draw draw(1);
  return curve(
      n, [](double i) { return power_law(i, 5, 2); }, [&] { return 0.03 * draw.normal(); });
}

TEST(LogHonesty, ZeroBesideANaNGradientHidesANaN) {
  const auto symptoms = RunOf().loss({0.8728, 0.0, 0.0}).grad_norm({k_nan, k_nan, k_nan}).detect();
  EXPECT_EQ(number(find(symptoms, "log.hidden_nan"), "from_step"), 1);
}

TEST(LogHonesty, AnAverageThatRepeatsIsTold) {
  auto loss = falling(100);
  for (std::size_t i = 60; i < 72; ++i) loss[i] = 2.34567;
  EXPECT_EQ(number(find(RunOf().loss(loss).detect(), "log.repeated_average"), "count"), 12);
}

TEST(LogHonesty, CoarselyPrintedLossesMayBeEqual) {
  auto loss = falling(100);
  for (double& each : loss) each = std::round(each * 10) / 10;
  EXPECT_FALSE(has(RunOf().loss(loss).detect(), "log.repeated_average"));
}

TEST(LogHonesty, ARecordEveryTenStepsIsAWindow) {
  EXPECT_EQ(number(find(RunOf().loss(falling(50), 10).detect(), "log.windowed"), "steps"), 10);
  EXPECT_FALSE(has(RunOf().loss(falling(50)).detect(), "log.windowed"));
}

TEST(LogHonesty, StepsWrittenTwiceAreCounted) {
  RunOf run;
  const auto loss = falling(40);
  for (std::size_t i = 0; i < 40; ++i) {
    run.at("loss", record::Role::loss, static_cast<std::int64_t>(i), loss[i]);
    if (i % 4 == 0) run.at("loss", record::Role::loss, static_cast<std::int64_t>(i), loss[i]);
  }
  EXPECT_EQ(number(find(run.detect(), "log.duplicate_steps"), "count"), 10);
}

TEST(LogHonesty, RanksThatWroteNothingAreNamed) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log", "text-log", 0);
  for (const int rank : {0, 1, 3}) {
    const record::SeriesId id =
        build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_, rank);
    for (int step = 0; step < 10; ++step) build.append(id, step, 2.0 - 0.01 * step, 1, 1);
  }
  const auto symptoms = aplomb::detection::detect(run);
  const detectors::Symptom* found = find(symptoms, "log.missing_ranks");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(number(found, "count"), 1);
  EXPECT_NE(found->summary.find('2'), std::string::npos);
}

TEST(LogHonesty, AnHonestLogIsSilent) {
  const auto symptoms =
      RunOf().loss(falling(100)).grad_norm(std::vector<double>(100, 0.5)).detect();
  for (const detectors::Symptom& symptom : symptoms)
    EXPECT_NE(symptom.id.substr(0, 4), "log.") << symptom.summary;
}

}  // namespace
}  // namespace aplomb::testing
