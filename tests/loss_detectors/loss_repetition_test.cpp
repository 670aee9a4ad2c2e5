#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

std::vector<double> batches(std::size_t count, std::uint64_t seed) {
  Draw draw(seed);
  return curve(count, [](double) { return 0.0; }, [&] { return 0.2 * draw.normal(); });
}

TEST(Repetition, TheSameOrderInEachPass) {
  const auto order = batches(40, 7);
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i)
    losses.push_back(3 - 0.005 * i + order[static_cast<std::size_t>(i) % 40]);
  const auto symptoms = RunOf().loss(losses).detect();
  const detectors::Symptom* repeats = find(symptoms, "loss.repeats");
  ASSERT_NE(repeats, nullptr) << told(symptoms);
  EXPECT_EQ(number(repeats, "records"), 40);
  EXPECT_FALSE(flag(repeats, "exact"));
  EXPECT_EQ(repeats->severity, core::Severity::note);
}

TEST(Repetition, TheSameNumbersInEachPassAreWeightsThatDoNotMove) {
  const auto order = batches(40, 8);
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i) losses.push_back(3 + order[static_cast<std::size_t>(i) % 40]);
  const auto symptoms = RunOf().loss(losses).detect();
  EXPECT_TRUE(flag(find(symptoms, "loss.repeats"), "exact"));
  EXPECT_EQ(find(symptoms, "loss.repeats")->severity, core::Severity::warning);
}

TEST(Repetition, IsSilentOnNoise) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Draw draw(seed);
    const auto losses = curve(
        80, [](double i) { return power_law(i, 3, 1); }, [&] { return 0.1 * draw.student3(); });
    const auto symptoms = RunOf().loss(losses).detect();
    EXPECT_FALSE(has(symptoms, "loss.repeats")) << seed;
    EXPECT_FALSE(has(symptoms, "resume.data_again")) << seed;
  }
}

TEST(Repetition, TheRunsBeginningAgainBehindAResume) {
  const auto order = batches(60, 9);
  RunOf run;
  std::vector<double> before;
  std::vector<double> after;
  for (std::size_t i = 0; i < 60; ++i)
    before.push_back(3 - 0.01 * static_cast<double>(i) + order[i]);
  for (std::size_t i = 0; i < 40; ++i)
    after.push_back(2.5 - 0.005 * static_cast<double>(i) + order[i]);
  run.loss(before);
  run.loss(after, 1, 50);  // steps go back from 59 to 50
  const auto symptoms = run.detect();
  const detectors::Symptom* again = find(symptoms, "resume.data_again");
  ASSERT_NE(again, nullptr) << told(symptoms);
  EXPECT_GT(number(again, "correlation"), 0.92);
}

TEST(Repetition, OtherDataBehindAResumeAreRight) {
  const auto first = batches(60, 10);
  const auto second = batches(40, 11);
  RunOf run;
  std::vector<double> before;
  std::vector<double> after;
  for (std::size_t i = 0; i < 60; ++i)
    before.push_back(3 - 0.01 * static_cast<double>(i) + first[i]);
  for (std::size_t i = 0; i < 40; ++i) after.push_back(2.5 + second[i]);
  run.loss(before);
  run.loss(after, 1, 50);
  EXPECT_FALSE(has(run.detect(), "resume.data_again"));
}

}  // namespace
}  // namespace aplomb::testing
