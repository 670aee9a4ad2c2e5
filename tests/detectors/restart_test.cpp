#include <gtest/gtest.h>

#include "detectors/feed.h"

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
  EXPECT_EQ(worst(symptoms), Severity::note) << told(symptoms);
}

TEST(Restart, ALossThatJumpsAtTheResumeIsAWarning) {
  RunOf run;
  run.loss(part(20, 6.0, 3)).loss(part(80, 2.0, 4), 1, 20).loss(part(100, 2.9, 5), 1, 90);
  const auto symptoms = run.detect();
  const Symptom* found = find(symptoms, "resume.loss_jump");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_NEAR(number(found, "ratio"), 1.5, 0.1);
}

TEST(Restart, ALossThatIsBackAtItsStartHasNoContinuity) {
  RunOf run;
  run.loss(part(10, 6.0, 6)).loss(part(90, 2.0, 7), 1, 10).loss(part(20, 5.9, 8), 1, 90);
  EXPECT_TRUE(has(run.detect(), "resume.no_continuity"));
}

TEST(Restart, ALearningRateThatJumpsIsTold) {
  RunOf run;
  run.loss(part(100, 2.0, 9)).with("lr", Role::lr, std::vector<double>(100, 1e-5));
  run.loss(part(50, 1.9, 10), 1, 90).with("lr", Role::lr, std::vector<double>(50, 1e-4), 1, 90);
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
  Event event;
  event.kind = kind;
  event.origin = {SourceId{0}, 100, 99 * 80 + 40};
  run.run().events.push_back(event);
  return run;
}

TEST(Restart, AResumeThatTheLogTellsIsJudgedWithoutAStepBack) {
  const auto symptoms = resumed(2.1).detect();
  const Symptom* found = find(symptoms, "resume.loss_jump");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, Severity::note);
  EXPECT_EQ(found->first_step, 100);
  EXPECT_NEAR(number(found, "ratio"), 1.1, 0.03);
  EXPECT_FALSE(has(symptoms, "run.restart"));
}

TEST(Restart, AResumeThatGoesOnWhereItWasIsSilentAndSoIsAnUnsaidStep) {
  EXPECT_FALSE(has(resumed(1.9).detect(), "resume.loss_jump"));
  EXPECT_FALSE(has(resumed(2.1, "other").detect(), "resume.loss_jump"));
}

}  // namespace
}  // namespace aplomb::testing
