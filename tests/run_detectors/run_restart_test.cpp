#include <gtest/gtest.h>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> part(std::size_t n, double level, std::uint64_t seed) {
  Draw draw(seed);
  return curve(
      n, [&](double i) { return level - 0.001 * i; }, [&] { return 0.02 * draw.normal(); });
}

TEST(Restart, AGoodResumeIsANote) {
  const auto symptoms = RunOf().loss(part(100, 2.0, 1)).loss(part(100, 1.92, 2), 1, 80).detect();
  EXPECT_EQ(number(find(symptoms, "run.restart"), "count"), 1);
  EXPECT_EQ(number(find(symptoms, "resume.step_back"), "steps"), 19);
  EXPECT_FALSE(has(symptoms, "resume.loss_jump"));
  EXPECT_EQ(worst(symptoms), core::Severity::note) << told(symptoms);
}

TEST(Restart, ALossThatJumpsAtTheResumeIsAWarning) {
  RunOf run;
  run.loss(part(20, 6.0, 3)).loss(part(80, 2.0, 4), 1, 20).loss(part(100, 2.9, 5), 1, 90);
  const auto symptoms = run.detect();
  const detectors::Symptom* found = find(symptoms, "resume.loss_jump");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_NEAR(number(found, "ratio"), 1.5, 0.1);
}

TEST(Restart, ALossThatIsBackAtItsStartHasNoContinuity) {
  RunOf run;
  run.loss(part(10, 6.0, 6)).loss(part(90, 2.0, 7), 1, 10).loss(part(20, 5.9, 8), 1, 90);
  EXPECT_TRUE(has(run.detect(), "resume.no_continuity"));
}

TEST(Restart, ALearningRateThatJumpsIsTold) {
  RunOf run;
  run.loss(part(100, 2.0, 9)).with("lr", record::Role::lr, std::vector<double>(100, 1e-5));
  run.loss(part(50, 1.9, 10), 1, 90)
      .with("lr", record::Role::lr, std::vector<double>(50, 1e-4), 1, 90);
  EXPECT_NEAR(number(find(run.detect(), "resume.lr_jump"), "ratio"), 10, 0.01);
}

TEST(Restart, AnUnbrokenRunAndNaNAreSilent) {
  auto loss = part(200, 2.0, 11);
  loss[100] = k_nan;
  const auto symptoms = RunOf().loss(loss).detect();
  EXPECT_FALSE(has(symptoms, "run.restart"));
  EXPECT_FALSE(has(symptoms, "resume.loss_jump"));
}

/// A run whose steps simply go on, with a line between two records that says it was resumed.
RunOf resumed(double after, const char* kind = "resuming") {
  RunOf run;
  run.loss(part(100, 2.0, 12)).loss(part(60, after, 13), 1, 100);
  record::Event event;
  event.kind = kind;
  event.origin = {record::SourceId{0}, 100, 99 * 80 + 40};
  run.run().events.push_back(event);
  return run;
}

TEST(Restart, AResumeThatTheLogTellsIsJudgedWithoutAStepBack) {
  const auto symptoms = resumed(2.1).detect();
  const detectors::Symptom* found = find(symptoms, "resume.loss_jump");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::note);
  EXPECT_EQ(found->first_step, 100);
  EXPECT_NEAR(number(found, "ratio"), 1.1, 0.03);
  EXPECT_FALSE(has(symptoms, "run.restart"));
}

TEST(Restart, AResumeThatGoesOnWhereItWasIsSilentAndSoIsAnUnsaidStep) {
  EXPECT_FALSE(has(resumed(1.9).detect(), "resume.loss_jump"));
  EXPECT_FALSE(has(resumed(2.1, "other").detect(), "resume.loss_jump"));
}

TEST(Restart, AnEpochThatGoesBackAtAResumeIsTold) {
  RunOf run = resumed(1.9);
  std::vector<double> epoch;
  for (int i = 0; i < 160; ++i) epoch.push_back(i < 100 ? 0.009 * i : 0.009 * (i - 100));
  run.with("epoch", record::Role::epoch, epoch);
  EXPECT_NEAR(number(find(run.detect(), "resume.epoch_back"), "before"), 0.891, 1e-9);
  RunOf unsaid;  // a logger that shows the share of the epoch at hand
  unsaid.loss(part(160, 2.0, 14)).with("epoch", record::Role::epoch, epoch);
  EXPECT_FALSE(has(unsaid.detect(), "resume.epoch_back"));
}

TEST(Restart, TheFirstLossSaysSoWhereItStandsFarOut) {
  const auto before = part(60, 2.0, 18);
  const auto said_after = [&](double first, double second) {
    detectors::RunContext context;
    context.series_names = {"loss"};
    context.resumed_at = {60};
    detection::DetectorBank bank(context);
    std::int64_t step = 0;
    std::vector<std::vector<detectors::Symptom>> said;
    std::vector<double> losses = before;
    losses.push_back(first);
    losses.insert(losses.end(), 6, second);
    for (const double loss : losses) {
      const detectors::Reading readings[] = {{record::Role::loss, 0, loss, {}}};
      bank.observe({step++, 0, readings});
      if (step > 60) said.push_back(bank.so_far());
    }
    return said;
  };
  const auto jump = said_after(2.9, 2.9);
  EXPECT_TRUE(has(jump[0], "resume.loss_jump")) << told(jump[0]);
  EXPECT_TRUE(has(jump[5], "resume.loss_jump"));
  const auto one_hard_batch = said_after(2.9, 1.95);
  EXPECT_FALSE(has(one_hard_batch[1], "resume.loss_jump")) << told(one_hard_batch[1]);
  EXPECT_FALSE(has(one_hard_batch[5], "resume.loss_jump"));
}

TEST(Restart, StepsAndRateThatBeginAnewWhileTheLossGoesOnAreAWarning) {
  const auto with_rate = [](double first) {
    RunOf run;
    run.loss(part(10, 6.0, 15)).loss(part(90, 2.0, 16), 1, 10);
    run.with("lr", record::Role::lr, std::vector<double>(100, 1e-4));
    run.loss(part(40, 1.9, 17), 1, 0)
        .with("lr", record::Role::lr, std::vector<double>(40, first), 1, 0);
    return run.detect();
  };
  const auto anew = with_rate(1e-5);
  EXPECT_EQ(find(anew, "resume.step_back")->severity, core::Severity::warning) << told(anew);
  // Steps counted from 0 in each epoch, as some loggers do.
  EXPECT_EQ(find(with_rate(1e-4), "resume.step_back")->severity, core::Severity::note);
}

TEST(Restart, AWarmUpThatBeginsAnewAtZeroIsAJumpOfTheRate) {
  RunOf run = resumed(1.9);
  std::vector<double> rate(100, 1e-4);
  for (int i = 0; i < 60; ++i) rate.push_back(1e-5 * std::min(i, 10));
  run.with("lr", record::Role::lr, rate);
  EXPECT_NEAR(number(find(run.detect(), "resume.lr_jump"), "ratio"), 0.1, 1e-9);
}

TEST(Restart, AWarmUpThatBeginsAnewIsToldThoughItsFirstRateIsLow) {
  std::vector<double> before, after;
  for (int i = 0; i < 60; ++i) before.push_back(i < 5 ? 6e-4 * (i + 1) : 3e-3 - 3.3e-5 * (i - 5));
  for (int i = 0; i < 30; ++i) after.push_back(i < 5 ? 6e-4 * (i + 2) : 3e-3);
  RunOf run;
  run.loss(part(60, 2.0, 31)).with("lr", record::Role::lr, before);
  run.loss(part(30, 1.95, 32), 1, 55).with("lr", record::Role::lr, after, 1, 55);
  EXPECT_TRUE(has(run.detect(), "resume.lr_jump"));
}

TEST(Restart, AWarmUpThatGoesOnIsNoJump) {
  std::vector<double> lr;
  for (int i = 0; i < 40; ++i) lr.push_back(1e-4 * (i + 1));
  RunOf run;
  run.loss(part(20, 2.0, 33))
      .with("lr", record::Role::lr, std::vector<double>(lr.begin(), lr.begin() + 20));
  run.loss(part(20, 1.98, 34), 1, 18)
      .with("lr", record::Role::lr, std::vector<double>(lr.begin() + 18, lr.begin() + 38), 1, 18);
  EXPECT_FALSE(has(run.detect(), "resume.lr_jump"));
}

TEST(Restart, ALossThatWasFallingFastIsComparedWithWhereItStood) {
  RunOf run;
  std::vector<double> falling, back;
  for (int i = 0; i < 18; ++i) falling.push_back(2.4 - 0.07 * i);
  for (int i = 0; i < 10; ++i) back.push_back(2.2 - 0.03 * i);
  run.loss(falling).loss(back, 1, 14);
  EXPECT_TRUE(has(run.detect(), "resume.loss_jump") || has(run.detect(), "resume.no_continuity"));
}

bool skips_saves(std::int64_t every, std::size_t until, std::int64_t loaded) {
  RunOf run;
  run.loss(part(until, 2.0, 21), every, every).loss(part(30, 1.9, 22), every, loaded + every);
  const auto symptoms = run.detect();
  const detectors::Symptom* back = find(symptoms, "resume.step_back");
  return back != nullptr && core::is_true(back->measures.at("skips_saves"));
}

TEST(Restart, MoreDoneAgainThanLiesBetweenTwoSavesIsAnOlderCheckpoint) {
  EXPECT_TRUE(skips_saves(50, 25, 800)) << "saved at 400 and 800, so at 1200, and stopped at 1250";
  EXPECT_TRUE(skips_saves(1, 13, 9));
}

TEST(Restart, WhatLiesBetweenTwoSavesIsDoneAgainAfterEveryStop) {
  EXPECT_FALSE(skips_saves(10, 37, 300));
  EXPECT_FALSE(skips_saves(10, 98, 750));
  EXPECT_FALSE(skips_saves(10, 18, 100)) << "the only save so far";
}

}  // namespace
TEST(Restart, ARateFromTheMidstOfItsCourseIsNoLostSchedule) {
  RunOf run;
  std::vector<double> lr;
  for (int i = 0; i < 60; ++i) {
    const int at = i < 40 ? i : i - 20;  // 40 records, then again from the 20th on
    lr.push_back(1e-3 * (1 - at / 45.0));
  }
  run.loss(part(60, 2.0, 31)).with("lr", record::Role::lr, lr);
  record::Event event;
  event.kind = "resuming";
  event.origin = {0, 40, 40 * 80};
  run.run().events.push_back(event);
  const auto symptoms = run.detect();
  EXPECT_FALSE(has(symptoms, "resume.lr_jump")) << told(symptoms);
  const detectors::Symptom* back = find(symptoms, "resume.step_back");
  ASSERT_NE(back, nullptr) << told(symptoms);
  EXPECT_TRUE(core::is_true(back->measures.at("skips_saves"))) << "40 records, saved at 20";
}

TEST(Restart, WhatIsEasierBehindAResumeWasSeenBefore) {
  for (const double level : {1.2, 1.9}) {
    RunOf run;
    run.loss(part(40, 2.0, 37)).loss(part(20, level, 38), 1, 40);
    record::Event event;
    event.kind = "resuming";
    event.origin = {0, 40, 40 * 80};
    run.run().events.push_back(event);
    EXPECT_EQ(has(run.detect(), "resume.loss_drop"), level < 1.5) << told(run.detect());
  }
}

TEST(Restart, ARateThatComesAgainTellsHowFarBackALogWithoutStepsWent) {
  for (const std::size_t back : {20U, 2U}) {
    RunOf run;
    std::vector<double> lr;
    for (int i = 0; i < 52; ++i) lr.push_back(1e-3 * (1 - i / 80.0));
    const std::vector<double> again(lr.end() - static_cast<std::ptrdiff_t>(back), lr.end());
    constexpr record::StepKind k_counted = record::StepKind::ordinal;
    run.with("loss", record::Role::loss, part(52, 2.0, 35), 1, 0, k_counted)
        .with("lr", record::Role::lr, lr, 1, 0, k_counted)
        .with("loss", record::Role::loss, part(back, 1.9, 36), 1, 0, k_counted)
        .with("lr", record::Role::lr, again, 1, 0, k_counted);
    const auto symptoms = run.detect();
    const detectors::Symptom* found = find(symptoms, "resume.step_back");
    EXPECT_EQ(found != nullptr, back == 20) << told(symptoms);
    if (found != nullptr) {
      EXPECT_TRUE(core::is_true(found->measures.at("skips_saves")));
    }
  }
}

}  // namespace aplomb::testing
