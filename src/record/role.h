#pragma once
/// Role: what a metric means, whatever its framework called it. Detectors choose their inputs by
/// role and know no framework's names; knowledge/series.yaml says which canonical series has which
/// role.

#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::record {

enum class Role : std::uint8_t {
  other,
  loss,  ///< training loss, nats per token (or as declared); of an RL trainer: the policy loss
  loss_component,  ///< one addend of the loss: `loss/cls`, `loss/box`, a multi-task head
  eval_loss,       ///< loss on held-out data
  eval_component,  ///< one addend of it
  grad_norm,      ///< global L2 norm of the gradient, before clipping unless the log says otherwise
  param_norm,     ///< L2 norm of the weights
  lr,             ///< learning rate (of the first parameter group)
  loss_scale,     ///< factor of fp16 dynamic loss scaling
  skipped_steps,  ///< running count of optimizer steps not taken
  nan_count,      ///< running count of non-finite steps, where a trainer counts them (Megatron)
  step_time_s,    ///< seconds per optimizer step (or per printed interval)
  data_time_s,    ///< seconds of a step spent waiting for data
  tokens_per_s,   ///< tokens (or samples: samples_per_s) per second
  samples_per_s,
  mfu_frac,           ///< model FLOP utilisation, 0..1
  memory_bytes,       ///< accelerator memory in use (peak or current)
  host_memory_bytes,  ///< host memory in use
  accuracy,           ///< share right on training data, 0..1 or percent
  eval_accuracy,      ///< share right on held-out data
  eval_metric,        ///< any other score on held-out data (higher or lower better: see the series)
  perplexity,
  reward,            ///< mean reward of a batch (RL)
  reward_component,  ///< mean of one reward function
  reward_component_std,
  reward_std,            ///< spread of the reward inside groups
  frac_reward_zero_std,  ///< share of prompt groups whose completions all got the same reward
  entropy,               ///< policy entropy, nats per token
  kl,                    ///< KL divergence from the reference policy
  logp_difference,       ///< |log p(trainer) - log p(sampler)|, mean over tokens
  logp_difference_max,
  is_ratio_min,  ///< smallest importance-sampling ratio in the batch
  is_ratio_mean,
  is_ratio_max,
  clip_ratio,         ///< share of tokens on which PPO/GRPO clipping is active
  completion_length,  ///< mean length of completions, tokens
  completion_length_max,
  terminated_length,         ///< mean length of the completions that ended by themselves
  completion_clipped_ratio,  ///< share of completions cut at the limit
  value_loss,                ///< critic's loss
  alignment,                 ///< EBFT: ebft/alignment
  diversity,                 ///< EBFT: ebft/diversity
  cfm_loss,                  ///< EBFT: ebft/cfm_loss
  epoch,                     ///< position in passes over the data
  count_,                    // keep last
};

/// The role's name in knowledge/series.yaml: `grad_norm`, `completion_clipped_ratio`.
std::string_view name(Role role);
std::optional<Role> role_of(std::string_view name);

}  // namespace aplomb::record
