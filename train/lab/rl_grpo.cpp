#include "train/lab/rl_grpo.h"

#include <cmath>

namespace aplomb::train::lab {
namespace {

using torch::Tensor;

constexpr double k_beside_deviation = 1e-4;  // TRL

/// Standard deviation with n - 1 over the last dimension, NaN left out; 0 where fewer than two
/// stay. Of doubles: equal rewards have a spread of exactly 0.
Tensor deviation(const Tensor& values) {
  const Tensor there = torch::isnan(values).logical_not();
  const Tensor count = there.sum(-1, true).to(torch::kFloat64);
  const Tensor filled = torch::nan_to_num(values, 0);
  const Tensor mean = filled.sum(-1, true) / count.clamp_min(1);
  const Tensor square = ((filled - mean) * there).square().sum(-1, true);
  return (square / (count - 1).clamp_min(1)).sqrt();
}

}  // namespace

Tensor masked_mean(const Tensor& values, const Tensor& mask) {
  return (values * mask).sum() / mask.sum().clamp_min(1);
}

Advantages group_advantages(const Tensor& rewards, std::int64_t group) {
  const Tensor exact = rewards.to(torch::kFloat64);
  const Tensor grouped = exact.view({-1, group});
  const Tensor spread = deviation(grouped);
  const Tensor mean = torch::nanmean(grouped, -1, true);
  Advantages out;
  out.values = torch::nan_to_num((grouped - mean) / (spread + k_beside_deviation), 0)
                   .view({-1})
                   .to(torch::kFloat32);
  out.reward = torch::nanmean(exact).item<double>();
  out.reward_std = deviation(exact).item<double>();
  out.frac_zero_std =
      torch::isclose(spread, torch::zeros_like(spread)).to(torch::kFloat32).mean().item<double>();
  return out;
}

GrpoLoss grpo_loss(const GrpoInput& input, const GrpoTerms& terms) {
  const Tensor advantages = input.advantages.unsqueeze(1);
  const Tensor ratio = (input.log_probs - input.old).exp();
  const Tensor clipped = ratio.clamp(1 - terms.epsilon, 1 + terms.epsilon_high);
  Tensor each = -torch::min(ratio * advantages, clipped * advantages);
  if (input.correction.defined()) each = each * input.correction;
  GrpoLoss out;
  if (input.reference.defined()) {
    const Tensor apart = input.reference - input.log_probs;
    const Tensor kl = apart.exp() - apart - 1;
    each = each + terms.beta * kl;
    out.kl = masked_mean(kl.detach(), input.mask).item<double>();
  }
  out.loss = terms.type == LossType::grpo
                 ? ((each * input.mask).sum(1) / input.mask.sum(1).clamp_min(1)).mean()
                 : masked_mean(each, input.mask);
  const auto share = [&](const Tensor& where) {
    return masked_mean(where.to(torch::kFloat32), input.mask).item<double>();
  };
  const Tensor fixed = ratio.detach();
  out.clip_low = share((fixed < 1 - terms.epsilon) & (advantages < 0));
  out.clip_high = share((fixed > 1 + terms.epsilon_high) & (advantages > 0));
  return out;
}

}  // namespace aplomb::train::lab
