#include "detection/bank.h"
#include "detection/feed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::testing {
namespace {

std::vector<double> noisy(std::size_t n, double sigma, std::uint64_t seed, double start = 2.0) {
  Draw draw(seed);
  return curve(
      n, [&](double i) { return power_law(i, start, 2.0); }, [&] { return sigma * draw.normal(); });
}

TEST(LossSpike, FindsASingleJumpAndSaysHowFarItIs) {
  auto loss = noisy(600, 0.05, 1);
  loss[400] = 9.8;
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* spike = find(symptoms, "loss.spike");
  ASSERT_NE(spike, nullptr) << told(symptoms);
  EXPECT_EQ(spike->severity, core::Severity::warning);
  EXPECT_EQ(number(spike, "step"), 400);
  EXPECT_EQ(number(spike, "count"), 1);
  EXPECT_NEAR(number(spike, "ratio"), 4.9, 0.2);
  EXPECT_TRUE(flag(spike, "recovers"));
  EXPECT_FALSE(spike->evidence.empty());
}

TEST(LossSpike, ASpikeDoesNotHideTheNext) {
  auto loss = noisy(1000, 0.05, 2);
  loss[500] = 12;
  loss[540] = 4;
  loss[580] = 4.5;
  EXPECT_EQ(number(find(RunOf().loss(loss).detect(), "loss.spike"), "count"), 3);
}

TEST(LossSpike, ANaNBeforeTheSpikeDoesNotHideIt) {
  auto loss = noisy(1000, 0.05, 3);
  loss[500] = k_nan;
  loss[501] = k_inf;
  loss[560] = 5;
  EXPECT_EQ(number(find(RunOf().loss(loss).detect(), "loss.spike"), "step"), 560);
}

TEST(LossSpike, TellsHowManyStepsTheGradientNormRoseBefore) {
  auto loss = noisy(600, 0.05, 4);
  Draw draw(5);
  auto norm = curve(600, [](double) { return 0.4; }, [&] { return 0.03 * draw.normal(); });
  norm[394] = 1.5;
  norm[395] = 2.5;
  norm[396] = 3;
  norm[397] = 5;
  norm[398] = 8;
  norm[399] = 20;
  norm[400] = 44;
  loss[400] = 8;
  loss[401] = 6;
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  EXPECT_EQ(number(find(symptoms, "loss.spike"), "lead_steps"), 6) << told(symptoms);
}

TEST(LossSpike, LongAndRepeatedSpikesAreUnstable) {
  auto loss = noisy(1000, 0.05, 6);
  for (const std::size_t at : {300U, 500U, 800U}) {
    for (std::size_t i = 0; i < 8; ++i) loss[at + i] = 8 - 0.5 * static_cast<double>(i);
  }
  EXPECT_EQ(find(RunOf().loss(loss).detect(), "loss.spike")->severity, core::Severity::unstable);
}

TEST(LossSpike, AFirstValueOfTenToTheSixteenIsASpikeAndPoisonsNothing) {
  auto loss = noisy(40, 0.02, 7);
  loss[0] = 6.1e16;
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* spike = find(symptoms, "loss.spike");
  ASSERT_NE(spike, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(spike, "at_start"));
}

TEST(LossSpike, AFewLossesThatScatterAreNoSpike) {
  const std::vector<double> scatter = {4.1, 5.0, 19.0, 4.4, 3.2, 17.5, 3.9};
  EXPECT_FALSE(has(RunOf().loss(scatter).detect(), "loss.spike"));
  const std::vector<double> once = {4.1, 4.2, 19.0, 4.0, 3.9, 4.0, 3.8};
  EXPECT_TRUE(has(RunOf().loss(once).detect(), "loss.spike"));
}

TEST(LossSpike, StepsThatGoBackAfterARestartRaiseNoSpike) {
  auto loss = noisy(600, 0.05, 8, 6.0);
  RunOf run;
  run.loss(loss);
  run.loss(std::vector<double>(loss.begin() + 300, loss.end()), 1, 300);
  EXPECT_FALSE(has(run.detect(), "loss.spike"));
}

TEST(LossSpike, LoggingEveryTenStepsAndGapsRaiseNoSpike) {
  auto loss = noisy(300, 0.05, 9, 8.0);
  RunOf run;
  run.loss(std::vector<double>(loss.begin(), loss.begin() + 100), 10);
  run.loss(std::vector<double>(loss.begin() + 100, loss.end()), 10, 50000);
  EXPECT_FALSE(has(run.detect(), "loss.spike"));
}

TEST(LossSpike, IsToldLiveWithinTheStep) {
  auto loss = noisy(400, 0.05, 10);
  loss[300] = 9;
  detectors::RunContext context;
  context.series_names = {"loss"};
  detection::DetectorBank bank(context);
  for (std::size_t i = 0; i <= 300; ++i) {
    EXPECT_FALSE(has(bank.so_far(), "loss.spike"));
    const detectors::Reading reading{record::Role::loss, 0, loss[i], {}};
    bank.observe({static_cast<std::int64_t>(i), 0, {&reading, 1}});
  }
  EXPECT_TRUE(has(bank.so_far(), "loss.spike"));
}

TEST(LossSpike, AStretchOfBadBatchesThatIsOverIsOne) {
  // 2.0, then 30 batches of a damaged shard, then most of the way back.
  Draw draw(41);
  std::vector<double> loss;
  for (int i = 0; i < 60; ++i) loss.push_back(2.0 + 0.05 * draw.normal());
  for (int i = 0; i < 30; ++i) loss.push_back(5.6 + 2 * std::exp(-i / 2.0) + 0.05 * draw.normal());
  for (int i = 0; i < 60; ++i)
    loss.push_back(2.3 + 2.5 * std::exp(-i / 8.0) + 0.05 * draw.normal());
  const auto symptoms = RunOf().loss(loss).detect();
  const detectors::Symptom* found = find(symptoms, "loss.spike");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_GE(found->severity, core::Severity::warning);
  EXPECT_TRUE(flag(found, "recovers"));
  EXPECT_EQ(number(found, "step"), 60);
}

TEST(LossSpike, AnotherMixtureOfDataIsANewLevel) {
  Draw draw(42);
  std::vector<double> loss;
  for (int i = 0; i < 100; ++i) loss.push_back(2.0 + 0.05 * draw.normal());
  for (int i = 0; i < 200; ++i) loss.push_back(3.2 - 0.002 * i + 0.05 * draw.normal());
  EXPECT_FALSE(has(RunOf().loss(loss).detect(), "loss.spike"));
}

}  // namespace
}  // namespace aplomb::testing
