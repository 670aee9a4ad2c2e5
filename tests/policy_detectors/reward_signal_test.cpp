#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

struct Record {
  double loss, grad_norm, reward, reward_std, frac, kl;
};

RunOf grpo(const std::vector<Record>& records) {
  RunOf run;
  std::int64_t step = 0;
  for (const Record& record : records) {
    ++step;
    run.at("loss", record::Role::loss, step, record.loss)
        .at("grad_norm", record::Role::grad_norm, step, record.grad_norm);
    run.at("reward", record::Role::reward, step, record.reward)
        .at("reward_std", record::Role::reward_std, step, record.reward_std);
    run.at("frac_reward_zero_std", record::Role::frac_reward_zero_std, step, record.frac)
        .at("kl", record::Role::kl, step, record.kl);
  }
  return run;
}

TEST(Rewards, ALossOfZeroWithSpreadAndGradientIsNormal) {
  const auto symptoms = grpo({{0, 0.087, 1.72, 0.57, 0, 5e-4},
                              {0, 0.097, 1.77, 0.75, 0, 5e-4},
                              {0, 0.106, 1.68, 0.63, 0, 5e-4},
                              {0, 0.104, 1.97, 0.79, 0, 5e-4}})
                            .detect();
  EXPECT_TRUE(has(symptoms, "rl.loss_zero_normal"));
  EXPECT_TRUE(has(symptoms, "run.healthy")) << told(symptoms);
  EXPECT_EQ(worst(symptoms), core::Severity::note) << told(symptoms);
}

TEST(Rewards, NoSpreadInAnyGroupIsZeroAdvantageEvenInOneRecord) {
  const auto one = grpo({{0, 0, 3, 0, 1, 0}}).detect();
  EXPECT_TRUE(has(one, "rl.zero_advantage")) << told(one);
  EXPECT_FALSE(has(one, "rl.no_gradient"));
  const auto many = grpo(std::vector<Record>(20, {0, 0, 3, 0, 1, 0})).detect();
  EXPECT_EQ(find(many, "rl.zero_advantage")->severity, core::Severity::unstable);
  EXPECT_TRUE(has(many, "reward.no_spread"));
}

TEST(Rewards, ABrokenGradientPathIsToldFromZeroAdvantage) {
  const auto symptoms = grpo(std::vector<Record>(4, {0, 0, 0.7, 0.13, 0.5, 0})).detect();
  EXPECT_EQ(find(symptoms, "rl.no_gradient")->severity, core::Severity::failed);
  EXPECT_FALSE(has(symptoms, "rl.zero_advantage")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "rl.loss_zero_normal"));
}

TEST(Rewards, OccasionalGroupsWithoutSpreadAreNormal) {
  std::vector<Record> records(40, {0.01, 0.3, 0.5, 0.2, 0.2, 0.01});
  for (std::size_t i = 0; i < 40; i += 8) records[i] = {0, 0, 0.5, 0, 1, 0.01};
  EXPECT_FALSE(has(grpo(records).detect(), "rl.zero_advantage"));
}

TEST(Rewards, ARewardThatStaysZeroIsToldAfterTwentyRecordsAsUnstable) {
  const std::vector<Record> records(25, {0.001, 0.2, 0, 0.1, 0.3, 0.01});
  EXPECT_EQ(find(grpo(records).detect(), "reward.zero")->severity, core::Severity::unstable);
}

TEST(Rewards, ASpreadOfZeroAloneIsNoZeroAdvantage) {
  RunOf run;
  for (int i = 0; i < 7; ++i) {
    run.at("reward", record::Role::reward, 1000 * i, -60.0 + 5 * i);
    run.at("reward_std", record::Role::reward_std, 1000 * i, 0.0);
  }
  const auto symptoms = run.detect();
  EXPECT_FALSE(has(symptoms, "rl.zero_advantage"));
  EXPECT_EQ(worst(symptoms), core::Severity::note) << told(symptoms);
}

TEST(Rewards, ARewardThatFallsOffItsHeightIsTold) {
  Draw draw(1);
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i)
    records.push_back(
        {0.01, 0.3, (i < 50 ? 0.6 : 0.6 - 0.01 * (i - 50)) + 0.01 * draw.normal(), 0.2, 0.1, 0.01});
  EXPECT_TRUE(has(grpo(records).detect(), "reward.falling"));
}

TEST(Rewards, AFunctionThatIsAlwaysZeroIsNamed) {
  RunOf run;
  for (int i = 0; i < 30; ++i) {
    run.at("reward", record::Role::reward, i, 0.5);
    run.at("reward/format", record::Role::reward_component, i, 0.0);
    run.at("reward/accuracy", record::Role::reward_component, i, 0.5);
  }
  EXPECT_EQ(word(find(run.detect(), "reward.zero"), "name"), "reward/format");
}

TEST(Rewards, NaNRecordsAreLeftOut) {
  std::vector<Record> records(30, {0.01, 0.3, 0.5, 0.2, 0.2, 0.01});
  records[10] = {k_nan, k_nan, k_nan, k_nan, k_nan, k_nan};
  const auto symptoms = grpo(records).detect();
  EXPECT_FALSE(has(symptoms, "rl.no_gradient"));
  EXPECT_FALSE(has(symptoms, "rl.zero_advantage"));
}

TEST(Rewards, ARewardThatDoesNotRiseAlthoughItDiffersInsideTheGroupsIsAWarning) {
  Draw draw(31);
  const auto run = [&](double rise, std::size_t n) {
    std::vector<Record> records;
    for (std::size_t i = 0; i < n; ++i) {
      const double reward = 0.5 + rise * static_cast<double>(i) + 0.05 * draw.normal();
      records.push_back({0.01, 0.4, reward, 0.3, 0.0, 0.0});
    }
    return grpo(records).detect();
  };
  const auto flat = run(0, 80);
  const detectors::Symptom* found = find(flat, "reward.flat");
  ASSERT_NE(found, nullptr) << told(flat);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_FALSE(has(run(0.002, 80), "reward.flat"));
  // Too short to ask for more than patience.
  EXPECT_EQ(worst(run(0, 45)), core::Severity::note);
}

}  // namespace
}  // namespace aplomb::testing
