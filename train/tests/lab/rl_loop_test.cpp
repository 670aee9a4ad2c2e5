#include "train/lab/rl_loop.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::train::lab {
namespace {

using torch::Tensor;

class SmallGrpo : public testing::Test {
 protected:
  SmallGrpo() { torch::set_num_threads(1); }
};

GrpoConfig short_run(std::int64_t steps) {
  GrpoConfig config;
  config.seed = 3;
  config.warm_start.steps = 60;
  config.max_steps = steps;
  return config;
}

double mean(const GrpoRun& run, const char* name, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += run.records[i].get(name).value();
  return sum / static_cast<double>(to - from);
}

TEST_F(SmallGrpo, learns_by_reinforcement) {
  for (const std::uint64_t seed : {1, 2}) {
    const GrpoRun run = run_grpo({.seed = seed}, {});
    ASSERT_EQ(run.records.size(), 150U);
    const char* correct = "rewards/correctness_reward/mean";
    EXPECT_GT(mean(run, correct, 130, 150), mean(run, correct, 0, 20) + 0.2) << "seed " << seed;
    EXPECT_GT(mean(run, "entropy", 130, 150), 0.1) << "the policy keeps a spread";
    EXPECT_LT(mean(run, "kl", 130, 150), 0.5) << "and stays near its reference";
  }
}

TEST_F(SmallGrpo, gives_the_same_records_again) {
  const GrpoConfig config = short_run(4);
  GrpoRun first = run_grpo(config, {});
  GrpoRun second = run_grpo(config, {});
  for (std::size_t i = 0; i < first.records.size(); ++i) {
    for (const auto& [name, value] : first.records[i].values) {
      if (name == "step_time") continue;
      EXPECT_EQ(value, second.records[i].get(name)) << name << " at record " << i;
    }
  }
}

TEST_F(SmallGrpo, is_the_same_run_until_the_guard_acts) {
  const GrpoConfig config = short_run(40);
  GrpoRun free = run_grpo(config, {});
  const GrpoRun guarded = run_grpo(config, {}, true);
  EXPECT_TRUE(free.guard_acts.empty()) << "without it gradients are only clipped";
  const std::size_t same = guarded.guard_acts.empty()
                               ? free.records.size()
                               : static_cast<std::size_t>(guarded.guard_acts.front()) - 1;
  ASSERT_GE(guarded.records.size(), same);
  for (std::size_t i = 0; i < same; ++i)
    EXPECT_EQ(guarded.records[i].get("loss"), free.records[i].get("loss")) << "record " << i;
}

TEST_F(SmallGrpo, records_are_means_over_the_steps_between_them) {
  GrpoConfig config = short_run(8);
  config.num_iterations = config.logging_steps = 4;
  const GrpoRun run = run_grpo(config, {});
  ASSERT_EQ(run.records.size(), 2U);
  EXPECT_EQ(run.records[1].step, 8);
  EXPECT_TRUE(run.records[1].get("reward")) << "samples are scored once, updates are four";
  EXPECT_GT(*run.records[1].get("kl"), 0);
}

TEST_F(SmallGrpo, what_cannot_be_scored_has_no_reward_and_is_told_once) {
  GrpoConfig config = short_run(3);
  config.rewards = {{"broken", [](const Problem&, std::string_view) { return std::nan(""); }}};
  const GrpoRun run = run_grpo(config, {});
  EXPECT_FALSE(run.records[2].get("reward"));
  EXPECT_EQ(*run.records[2].get("frac_reward_zero_std"), 1.0);
  EXPECT_EQ(run.warnings.size(), 1U);
}

TEST_F(SmallGrpo, a_sampler_that_is_synced_agrees_and_one_that_is_not_falls_behind) {
  GrpoConfig config = short_run(12);
  config.own_sampler = true;
  const char* apart = "sampling/sampling_logp_difference/mean";
  EXPECT_LT(*run_grpo(config, {}).records.back().get(apart), 1e-5);
  const GrpoRun stale = run_grpo(config, {.never_synced = true});
  EXPECT_LT(*stale.records.front().get(apart), 1e-5);
  EXPECT_GT(*stale.records.back().get(apart), 0.05);
}

TEST_F(SmallGrpo, cleared_gradients_leave_the_policy_where_it_was) {
  const GrpoRun run = run_grpo(short_run(3), {.gradients_cleared = true});
  EXPECT_EQ(*run.records.back().get("grad_norm"), 0);
  EXPECT_EQ(*run.records.back().get("kl"), 0);
  EXPECT_GT(*run.records.back().get("reward_std"), 0);
}

TEST_F(SmallGrpo, a_policy_of_nan_ends_the_run_with_its_reason) {
  GrpoConfig config = short_run(5);
  config.learning_rate = 1e38;
  const GrpoRun run = run_grpo(config, {});
  EXPECT_FALSE(run.error.empty());
  EXPECT_LT(run.records.size(), 5U);
}

TEST_F(SmallGrpo, the_sampler_reports_what_the_policy_thinks_of_its_tokens) {
  torch::manual_seed(7);
  const auto policy = make_policy({});
  const std::vector<Problem> sums = {{1, 2}, {3, 4}};
  const Completions drawn =
      sample(*policy, sums, {.group = 3, .max_tokens = 5, .temperature = 0.7});
  ASSERT_EQ(drawn.ids.size(0), 6);
  const Tensor seen = view_tokens(*policy, drawn, 0.7).log_probs * drawn.mask;
  EXPECT_LT((seen - drawn.log_probs).abs().max().item<double>(), 1e-5);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(drawn.mask[static_cast<std::int64_t>(i)].sum().item<double>(),
              static_cast<double>(drawn.lengths[i]));
  }
}

TEST_F(SmallGrpo, the_most_probable_token_makes_all_completions_of_a_prompt_alike) {
  torch::manual_seed(7);
  const auto policy = make_policy({});
  const Completions drawn = sample(*policy, {{1, 2}}, {.group = 4, .max_tokens = 5, .top_k = 1});
  for (const std::string& each : drawn.texts) EXPECT_EQ(each, drawn.texts.front());
}

}  // namespace
}  // namespace aplomb::train::lab
