#pragma once
/// Group relative policy optimization: advantages and loss, as functions of tensors.
///
/// Sources: Shao et al., DeepSeekMath, arXiv:2402.03300, section 4.1 (equations 3 and 4: clipped
/// ratio, advantage normalised inside the group, KL estimator k3 of Schulman,
/// http://joschu.net/blog/kl-approx.html); TRL's documentation of GRPOTrainer for what users set
/// and see (https://huggingface.co/docs/trl/grpo_trainer: 1e-4 beside the standard deviation,
/// truncated importance sampling, the names of the records); Yu et al., DAPO, arXiv:2503.14476,
/// equation 8, for the loss that weighs tokens alike.
///
/// Shape legend: N completions, one group behind the other; G completions a group; C columns.

#include <torch/types.h>

#include <cstdint>

namespace aplomb::train::lab {

struct Advantages {
  torch::Tensor values;      ///< [N] fp32: (reward - group's mean) / (its deviation + 1e-4)
  double reward = 0;         ///< mean over those that can be scored
  double reward_std = 0;     ///< over the whole batch, n - 1 below
  double frac_zero_std = 0;  ///< groups whose rewards are all equal
};

/// rewards [N] fp32. NaN is a completion that cannot be scored: it counts in no mean, and its
/// advantage is 0. `group` divides N.
Advantages group_advantages(const torch::Tensor& rewards, std::int64_t group);

struct GrpoInput {
  torch::Tensor log_probs;   ///< [N, C] with their graph
  torch::Tensor old;         ///< [N, C] under the policy before the first update on these samples
  torch::Tensor reference;   ///< [N, C], or undefined: no KL term
  torch::Tensor correction;  ///< [N, C] trainer's over sampler's probability, or undefined: 1
  torch::Tensor advantages;  ///< [N]
  torch::Tensor mask;        ///< [N, C]
};

enum class LossType : std::uint8_t {
  grpo,  ///< mean over completions of the mean over their tokens (DeepSeekMath)
  dapo,  ///< mean over all tokens
};

struct GrpoTerms {
  double epsilon = 0.2;
  double epsilon_high = 0.2;
  double beta = 0;
  LossType type = LossType::dapo;
};

struct GrpoLoss {
  torch::Tensor loss;                  ///< scalar, with its graph
  double kl = 0;                       ///< mean over tokens of k3
  double clip_low = 0, clip_high = 0;  ///< share of tokens beyond each end of the range
};

GrpoLoss grpo_loss(const GrpoInput& input, const GrpoTerms& terms);

/// Mean over the tokens of the mask.
torch::Tensor masked_mean(const torch::Tensor& values, const torch::Tensor& mask);

}  // namespace aplomb::train::lab
