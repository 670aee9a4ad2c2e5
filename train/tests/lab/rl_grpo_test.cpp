#include "train/lab/rl_grpo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aplomb::train::lab {
namespace {

using torch::Tensor;

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

Tensor row(const std::vector<float>& values) { return torch::tensor(values); }

TEST(GroupAdvantages, are_rewards_less_their_groups_mean_over_its_deviation) {
  // Group 1: mean 0.5, deviation (n - 1) sqrt(1/3); group 2: all equal.
  const Advantages out = group_advantages(row({0, 1, 0, 1, 3, 3, 3, 3}), 4);
  const double each = 0.5 / (std::sqrt(1.0 / 3) + 1e-4);
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(out.values[i].item<double>(), i % 2 == 1 ? each : -each, 1e-6);
  EXPECT_EQ(out.values.narrow(0, 4, 4).abs().max().item<double>(), 0);
  EXPECT_DOUBLE_EQ(out.reward, 1.75);
  EXPECT_DOUBLE_EQ(out.frac_zero_std, 0.5);
  // Deviations from 1.75: 2 x 1.75^2 + 2 x 0.75^2 + 4 x 1.25^2, over 7.
  EXPECT_NEAR(out.reward_std, std::sqrt((2 * 3.0625 + 2 * 0.5625 + 4 * 1.5625) / 7), 1e-6);
}

TEST(GroupAdvantages, leave_out_what_cannot_be_scored) {
  const Advantages out =
      group_advantages(row({0, 1, static_cast<float>(k_nan), static_cast<float>(k_nan)}), 4);
  EXPECT_NEAR(out.values[0].item<double>(), -0.5 / (std::sqrt(0.5) + 1e-4), 1e-6);
  EXPECT_EQ(out.values[2].item<double>(), 0);
  EXPECT_DOUBLE_EQ(out.reward, 0.5);
  const Advantages none = group_advantages(torch::full({4}, k_nan), 4);
  EXPECT_TRUE(std::isnan(none.reward));
  EXPECT_EQ(none.values.abs().max().item<double>(), 0);
}

GrpoInput input_of(const Tensor& log_probs, const Tensor& old,
                   const std::vector<float>& advantages) {
  GrpoInput input;
  input.log_probs = log_probs;
  input.old = old;
  input.advantages = row(advantages);
  input.mask = torch::ones_like(log_probs).detach();
  return input;
}

TEST(GrpoLoss, takes_the_smaller_of_ratio_and_clipped_ratio) {
  // Ratios 1.5, 0.5 for a good completion, the same for a bad one.
  const Tensor now = torch::log(torch::tensor({{1.5F, 0.5F}, {1.5F, 0.5F}}));
  const GrpoLoss out = grpo_loss(input_of(now, torch::zeros({2, 2}), {1, -1}), {});
  // good: 1.2 (clipped), 0.5; bad: -1.5, -0.8 (clipped).
  EXPECT_NEAR(out.loss.item<double>(), -(1.2 + 0.5 - 1.5 - 0.8) / 4, 1e-6);
  EXPECT_DOUBLE_EQ(out.clip_high, 0.25);
  EXPECT_DOUBLE_EQ(out.clip_low, 0.25);
}

TEST(GrpoLoss, has_no_gradient_where_it_clips) {
  Tensor now = torch::log(torch::tensor({{1.5F, 1.1F}})).requires_grad_(true);
  grpo_loss(input_of(now, torch::zeros({1, 2}), {1}), {}).loss.backward();
  EXPECT_EQ(now.grad()[0][0].item<double>(), 0);
  EXPECT_NEAR(now.grad()[0][1].item<double>(), -1.1 / 2, 1e-6);
}

TEST(GrpoLoss, adds_the_k3_estimate_of_the_divergence) {
  GrpoInput input = input_of(torch::tensor({{-1.0F}}), torch::tensor({{-1.0F}}), {0});
  input.reference = torch::tensor({{-1.5F}});
  const GrpoLoss out = grpo_loss(input, {.beta = 0.1});
  const double k3 = std::exp(-0.5) + 0.5 - 1;
  EXPECT_NEAR(out.kl, k3, 1e-6);
  EXPECT_NEAR(out.loss.item<double>(), 0.1 * k3, 1e-6);
}

TEST(GrpoLoss, weighs_completions_or_tokens_alike) {
  GrpoInput input = input_of(torch::zeros({2, 3}), torch::zeros({2, 3}), {1, -2});
  input.mask = torch::tensor({{1.0F, 0.0F, 0.0F}, {1.0F, 1.0F, 1.0F}});
  EXPECT_NEAR(grpo_loss(input, {.type = LossType::grpo}).loss.item<double>(), (-1 + 2) / 2.0, 1e-6);
  EXPECT_NEAR(grpo_loss(input, {.type = LossType::dapo}).loss.item<double>(), (-1 + 6) / 4.0, 1e-6);
}

TEST(GrpoLoss, gradient_is_the_finite_difference) {
  torch::manual_seed(5);
  const auto exact = torch::TensorOptions().dtype(torch::kFloat64);
  Tensor now = (torch::randn({4, 3}, exact) * 0.3).requires_grad_(true);
  GrpoInput input;
  input.old = torch::randn({4, 3}, exact) * 0.3;
  input.reference = torch::randn({4, 3}, exact) * 0.3;
  input.correction = torch::rand({4, 3}, exact) + 0.5;
  input.advantages = torch::randn({4}, exact);
  input.mask = torch::tensor({1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0}, exact)
                   .view({4, 3});
  const GrpoTerms terms{.epsilon = 0.2, .epsilon_high = 0.28, .beta = 0.04, .type = LossType::grpo};
  const auto loss_at = [&](const Tensor& where) {
    input.log_probs = where;
    return grpo_loss(input, terms).loss;
  };
  loss_at(now).backward();
  constexpr double k_apart = 1e-6;
  for (std::int64_t i = 0; i < 12; ++i) {
    const auto shifted = [&](double by) {
      Tensor at = now.detach().clone();
      at.view({-1})[i] += by;
      return loss_at(at).item<double>();
    };
    EXPECT_NEAR(now.grad().view({-1})[i].item<double>(),
                (shifted(k_apart) - shifted(-k_apart)) / (2 * k_apart), 1e-7)
        << "token " << i;
  }
}

}  // namespace
}  // namespace aplomb::train::lab
