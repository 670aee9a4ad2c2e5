#include <gtest/gtest.h>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

RunOf rl(record::Role role, const std::vector<double>& values) {
  RunOf run;
  run.with("reward", record::Role::reward, std::vector<double>(values.size(), 0.5));
  run.with(std::string(name(role)), role, values);
  return run;
}

std::vector<double> decay(std::size_t n, double from, double to) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i)
    values.push_back(from *
                     std::pow(to / from, static_cast<double>(i) / static_cast<double>(n - 1)));
  return values;
}

TEST(Policy, EntropyThatCollapsesForGoodIsUnstable) {
  const auto symptoms = rl(record::Role::entropy, decay(60, 0.4, 0.0005)).detect();
  const detectors::Symptom* found = find(symptoms, "entropy.collapse");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_NEAR(number(found, "first"), 0.4, 1e-9);
}

struct RedFlag {
  record::Role role;
  double value;
  const char* id;
};

TEST(Policy, EveryRedFlagOfTheTableFires) {
  for (const RedFlag& each : {RedFlag{record::Role::kl, 3.0, "kl.high"},
                              RedFlag{record::Role::logp_difference, 1.5, "logp_difference.high"},
                              RedFlag{record::Role::is_ratio_min, 0.001, "is_ratio.low"},
                              RedFlag{record::Role::is_ratio_max, 40, "is_ratio.high"},
                              RedFlag{record::Role::clip_ratio, 0.5, "clip_ratio.high"},
                              RedFlag{record::Role::entropy, 0.001, "entropy.collapse"},
                              RedFlag{record::Role::entropy, 2.5, "entropy.high"}}) {
    EXPECT_TRUE(has(rl(each.role, std::vector<double>(12, each.value)).detect(), each.id))
        << each.id;
    EXPECT_TRUE(has(rl(each.role, {each.value}).detect(), each.id)) << each.id << " in one record";
  }
}

TEST(Policy, ValuesInsideTheHealthyRangesAreSilent) {
  RunOf run;
  for (int i = 0; i < 40; ++i) {
    run.at("reward", record::Role::reward, i, 0.5)
        .at("entropy", record::Role::entropy, i, 0.3)
        .at("kl", record::Role::kl, i, 0.05);
    run.at("logp_difference", record::Role::logp_difference, i, 0.02)
        .at("clip_ratio", record::Role::clip_ratio, i, 0.01);
    run.at("is_ratio_min", record::Role::is_ratio_min, i, 0.6)
        .at("is_ratio_max", record::Role::is_ratio_max, i, 1.5);
  }
  EXPECT_EQ(worst(run.detect()), core::Severity::note) << told(run.detect());
}

TEST(Policy, OneBadRecordInTheMiddleIsNoState) {
  std::vector<double> kl(50, 0.05);
  kl[20] = 9;
  kl[30] = k_nan;
  EXPECT_FALSE(has(rl(record::Role::kl, kl).detect(), "kl.high"));
}

TEST(Policy, AStateIsToldWhileTheRunGoesOnAndOneBadRecordIsNot) {
  detectors::RunContext context;
  context.series_names = {"kl"};
  context.reinforcement = true;
  detection::DetectorBank bank(context);
  for (std::int64_t step = 0; step < 40; ++step) {
    const bool high = step == 5 || step >= 20;
    const detectors::Reading readings[] = {{record::Role::kl, 0, high ? 4.0 : 0.1, {}}};
    bank.observe({step, 0, readings});
    EXPECT_EQ(has(bank.so_far(), "kl.high"), step >= 29) << step;
  }
}

TEST(Policy, ARatioThatIsNotOneOnAverageIsBiasedAndANoisyOneIsNot) {
  Draw draw(7);
  const auto noise = [&] { return 0.05 * draw.normal(); };
  const auto one = [](double) { return 1.0; };
  const auto more = [](double) { return 1.08; };
  EXPECT_FALSE(
      has(rl(record::Role::is_ratio_mean, curve(40, one, noise)).detect(), "is_ratio.biased"));
  const auto symptoms = rl(record::Role::is_ratio_mean, curve(40, more, noise)).detect();
  EXPECT_NEAR(number(find(symptoms, "is_ratio.biased"), "mean"), 1.08, 0.03) << told(symptoms);
  // Too few to say, and a sampler that falls behind (ratios cut from above: below 1).
  EXPECT_FALSE(
      has(rl(record::Role::is_ratio_mean, curve(9, more, noise)).detect(), "is_ratio.biased"));
  EXPECT_FALSE(has(rl(record::Role::is_ratio_mean, std::vector<double>(40, 0.9)).detect(),
                   "is_ratio.biased"));
}

TEST(Policy, KlOfOtherRunsFlagsNothing) {
  const auto symptoms =
      RunOf().loss({2, 1.9, 1.8}).with("kl", record::Role::kl, {5, 5, 5}).detect();
  EXPECT_FALSE(has(symptoms, "kl.high"));
}

TEST(Policy, SamplesOfAnotherPolicyAreToldBeforeTheRedFlag) {
  EXPECT_TRUE(has(rl(record::Role::logp_difference, std::vector<double>(10, 0.3)).detect(),
                  "rl.off_policy"));
}

}  // namespace
}  // namespace aplomb::testing
