#include "detection/feed.h"

#include <gtest/gtest.h>

#include <numbers>

namespace aplomb::testing {
namespace {

RunOf rates(std::size_t count, const std::function<double(double)>& at) {
  RunOf run;
  run.loss(std::vector<double>(count, 1.0), 10);
  run.with("lr", record::Role::lr,
           curve(count, [&](double i) { return at(10 * i); }, [] { return 0.0; }), 10);
  return run;
}

double warmed(double step, double warmup, double rest) {
  return step < warmup ? step / warmup : rest;
}

TEST(LrShape, LinearAndCosineTellWhatTheyWereMadeFor) {
  const auto linear = rates(60, [](double t) {
                        return 3e-4 * warmed(t, 100, std::max(0.0, 1 - (t - 100) / 900));
                      }).detect();
  EXPECT_EQ(word(find(linear, "lr.shape"), "name"), "linear") << told(linear);
  EXPECT_NEAR(number(find(linear, "lr.shape"), "total_steps"), 1000, 10);
  EXPECT_NEAR(number(find(linear, "lr.shape"), "warmup_steps"), 100, 1);
  const auto cosine =
      rates(60, [](double t) {
        return 1e-3 * 0.5 * (1 + std::cos(std::numbers::pi * std::min(t / 600, 1.0)));
      }).detect();
  EXPECT_EQ(word(find(cosine, "lr.shape"), "name"), "cosine") << told(cosine);
  EXPECT_NEAR(number(find(cosine, "lr.shape"), "total_steps"), 600, 6);
}

TEST(LrShape, StepsExponentialsAndConstantsHaveNames) {
  const auto step =
      rates(60, [](double t) { return 0.1 * std::pow(0.1, std::floor(t / 200)); }).detect();
  EXPECT_EQ(word(find(step, "lr.shape"), "name"), "step") << told(step);
  EXPECT_NEAR(number(find(step, "lr.shape"), "factor"), 0.1, 1e-6);
  const auto exponential = rates(40, [](double t) { return 0.01 * std::pow(0.999, t); }).detect();
  EXPECT_EQ(word(find(exponential, "lr.shape"), "name"), "exponential") << told(exponential);
  EXPECT_EQ(word(find(rates(20, [](double) { return 0.03; }).detect(), "lr.shape"), "name"),
            "constant");
}

TEST(LrShape, AnExponentialThatCountsBatchesVanishes) {
  const auto symptoms = rates(60, [](double t) { return 1e-3 * std::pow(0.9, t / 2); }).detect();
  const detectors::Symptom* gone = find(symptoms, "lr.vanishes");
  ASSERT_NE(gone, nullptr) << told(symptoms);
  EXPECT_GT(number(gone, "share"), 0.5);
  EXPECT_EQ(gone->severity, core::Severity::warning);
}

TEST(LrShape, SoundSchedulesDoNotVanish) {
  for (const double end : {300.0, 600.0, 1200.0}) {
    EXPECT_FALSE(
        has(rates(60, [&](double t) { return 1e-3 * std::max(0.0, 1 - t / end); }).detect(),
            "lr.vanishes"));
  }
}

/// A log in which the run is resumed at step 200; rates as the scheduler gives them behind it.
const detectors::Symptom* again(const std::function<double(double)>& behind,
                                std::vector<detectors::Symptom>& symptoms) {
  RunOf run;
  for (int step = 10; step <= 400; step += 10) {
    run.at("loss", record::Role::loss, step, 2 - 0.001 * step);
    if (step == 200) {
      record::Event event;
      event.kind = "resuming";
      event.origin = {0, 205, 205 * 80};
      run.run().events.push_back(event);
    }
    const double t = step;
    run.at("lr", record::Role::lr, step, step <= 200 ? 6e-3 * (1 - t / 400) : behind(t));
  }
  symptoms = run.detect();
  return find(symptoms, "resume.lr_again");
}

TEST(LrShape, ASchedulerThatBeginsAnewBehindAResume) {
  std::vector<detectors::Symptom> symptoms;
  ASSERT_NE(again([](double t) { return 6e-3 * (1 - (t - 200) / 400); }, symptoms), nullptr)
      << told(symptoms);
  EXPECT_NEAR(number(find(symptoms, "resume.lr_again"), "before"), 3e-3, 1e-9);
  EXPECT_EQ(again([](double t) { return 6e-3 * (1 - t / 400); }, symptoms), nullptr);
}

TEST(LrShape, AResumeAtARestartOfTheScheduleHasLostNothing) {
  RunOf run;
  for (int step = 10; step <= 600; step += 10) {
    run.at("loss", record::Role::loss, step, 3 - 0.001 * step);
    if (step == 310) {
      record::Event event;
      event.kind = "resuming";
      event.origin = {0, 305, 305 * 80};
      run.run().events.push_back(event);
    }
    const double phase = std::fmod(static_cast<double>(step), 150) / 150;
    run.at("lr", record::Role::lr, step, 1e-3 * (1 + std::cos(std::numbers::pi * phase)));
  }
  const auto symptoms = run.detect();
  EXPECT_FALSE(has(symptoms, "resume.lr_again")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "resume.step_back")) << told(symptoms);
}

TEST(LrShape, WarmRestartsAreCounted) {
  const auto symptoms = rates(60, [](double t) {
                          const double phase = std::fmod(t, 150) / 150;
                          return 0.1 * 0.5 * (1 + std::cos(std::numbers::pi * phase));
                        }).detect();
  EXPECT_EQ(number(find(symptoms, "lr.restarts"), "count"), 3) << told(symptoms);
  EXPECT_TRUE(core::is_true(find(symptoms, "lr.restarts")->measures.at("regular")));
  EXPECT_FALSE(
      has(rates(60, [](double t) { return 1e-3 * warmed(t, 200, 1); }).detect(), "lr.restarts"));
}

}  // namespace
}  // namespace aplomb::testing
