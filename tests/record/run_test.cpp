#include "record/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "record/run_builder.h"

namespace aplomb::record {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

TEST(Series, ThinningBoundsMemoryAndKeepsCountsAndTheFirstNaN) {
  Series series;
  const std::size_t many = 4 * Series::k_max_points;
  for (std::size_t i = 0; i < many; ++i) {
    const double sample = i == many - 7 ? k_nan : 2.0 + 1e-3 * static_cast<double>(i % 10);
    series.append(static_cast<std::int64_t>(i), sample, 0, i + 1, i * 10);
  }
  EXPECT_EQ(series.count, many);
  EXPECT_EQ(series.nonfinite_count, 1U);
  EXPECT_LE(series.size(), Series::k_max_points);
  bool kept = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::isnan(series.value[i])) kept = series.step[i] == static_cast<std::int64_t>(many - 7);
  }
  EXPECT_TRUE(kept);
  EXPECT_DOUBLE_EQ(series.min, 2.0);
}

TEST(RunBuilder, AStepThatGoesBackStartsASegmentForAllSeriesOfTheSource) {
  aplomb::record::Run run;
  RunBuilder build(run);
  const SourceId source = build.open("log", "text-log", 0);
  const SeriesId loss = build.series(source, "loss", "loss", Role::loss, StepKind::explicit_);
  const SeriesId lr = build.series(source, "lr", "lr", Role::lr, StepKind::explicit_);
  for (const std::int64_t step : {10, 20, 30, 20, 30}) {
    build.append(loss, step, 1.0, 0, 0);
    build.append(lr, step, 0.1, 0, 0);
  }
  EXPECT_EQ(run.restarts, 1U);
  EXPECT_EQ(run.series[loss].segment, (std::vector<std::uint16_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(run.series[lr].segment, run.series[loss].segment);
}

/// A log without steps that prints its last evaluation once more beside the file that knows the steps.
TEST(Run, StepsThatAreKnownAreTakenBeforeAFewMoreRecordsThatAreCounted) {
  for (const bool restarted : {false, true}) {
    aplomb::record::Run run;
    RunBuilder build(run);
    const SourceId log = build.open("train.log", "text-log", 0);
    const SeriesId counted =
        build.series(log, "eval_loss", "eval_loss", Role::eval_loss, StepKind::ordinal);
    for (std::int64_t i = 0; i < 10; ++i)
      build.append(counted, restarted && i > 5 ? i - 6 : i, 1.0, 0, 0);
    const SourceId state = build.open("trainer_state.json", "hf-state", 0);
    const SeriesId known =
        build.series(state, "eval_loss", "eval_loss", Role::eval_loss, StepKind::explicit_);
    for (std::int64_t i = 1; i <= 8; ++i) build.append(known, 60 * i, 1.0, 0, 0);
    const Series* chosen = run.primary(Role::eval_loss);
    ASSERT_NE(chosen, nullptr);
    EXPECT_EQ(chosen->step_kind == StepKind::explicit_, !restarted)
        << "what was done again only the log has";
  }
}

TEST(RunBuilder, GoesOnWithARunThatHasSeriesAlready) {
  aplomb::record::Run run;
  RunBuilder first(run);
  const SourceId log = first.open("log", "text-log", 0);
  for (int i = 0; i < 100; ++i)
    first.series(log, "m" + std::to_string(i), "m", Role::other, StepKind::explicit_);
  RunBuilder second(run);
  const SourceId state = second.open("state", "trainer-state", 0);
  const SeriesId loss = second.series(state, "loss", "loss", Role::loss, StepKind::explicit_);
  for (const std::int64_t step : {10, 20, 10}) second.append(loss, step, 1.0, 0, 0);
  EXPECT_EQ(run.series[loss].source, state);
  EXPECT_EQ(run.series[loss].segment, (std::vector<std::uint16_t>{0, 0, 1}));
  EXPECT_EQ(second.last_step(state), 20);
}

TEST(RunBuilder, ATableThatIsFullSaysHowMuchItLeftOut) {
  aplomb::record::Run run;
  RunBuilder build(run);
  const SourceId source = build.open("log", "text-log", 0);
  const auto times = [&](const char* kind) {
    for (const Defect& each : run.defects) {
      if (each.kind == kind) return each.times;
    }
    return std::uint64_t{0};
  };
  const auto number = [](std::size_t i) { return static_cast<double>(i); };
  for (std::size_t i = 0; i < RunBuilder::k_max_settings + 100; ++i)
    build.setting({i % 2 == 0 ? "optim.lr" : "batch.micro", number(i), "k", {}, {source, i, i}});
  build.setting({"seed", 7.0, "seed", {}, {source, 0, 0}});
  build.setting({"optim.lr", 0.5, "lr", {}, {source, 0, 0}});
  build.setting({"seed", 8.0, "seed", {}, {source, 0, 0}});
  EXPECT_EQ(run.settings.size(), RunBuilder::k_max_settings);
  EXPECT_EQ(times("too-many-settings"), 103U);
  EXPECT_EQ(run.setting("optim.lr")->value, core::Value(0.5));
  EXPECT_EQ(run.setting("batch.micro")->value,
            core::Value(number(RunBuilder::k_max_settings + 99)));
  EXPECT_EQ(run.setting("seed")->value, core::Value(8.0));

  for (std::size_t i = 0; i < RunBuilder::k_max_series + 10; ++i)
    build.series(source, "m" + std::to_string(i), "m", Role::other, StepKind::explicit_);
  EXPECT_EQ(run.series.size(), RunBuilder::k_max_series);
  EXPECT_EQ(times("too-many-series"), 10U);

  for (std::size_t i = 0; i < RunBuilder::k_max_events + 5; ++i) {
    Event event;
    event.text = std::to_string(i);
    event.origin = {source, i, i};
    build.event(std::move(event));
  }
  EXPECT_EQ(run.events.size(), RunBuilder::k_max_events);
  EXPECT_EQ(run.events.back().text, std::to_string(RunBuilder::k_max_events + 4));
  EXPECT_EQ(times("too-many-events"), 5U);
}

}  // namespace
}  // namespace aplomb::record
