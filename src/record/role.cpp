#include "record/role.h"

#include <array>

namespace aplomb::record {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Role::count_)> k_names = {
    "other",
    "loss",
    "loss_component",
    "eval_loss",
    "eval_component",
    "grad_norm",
    "param_norm",
    "lr",
    "loss_scale",
    "skipped_steps",
    "nan_count",
    "step_time_s",
    "data_time_s",
    "tokens_per_s",
    "samples_per_s",
    "mfu_frac",
    "memory_bytes",
    "host_memory_bytes",
    "accuracy",
    "eval_accuracy",
    "eval_metric",
    "perplexity",
    "reward",
    "reward_component",
    "reward_component_std",
    "reward_std",
    "frac_reward_zero_std",
    "entropy",
    "kl",
    "logp_difference",
    "logp_difference_max",
    "is_ratio_min",
    "is_ratio_mean",
    "is_ratio_max",
    "clip_ratio",
    "completion_length",
    "completion_length_max",
    "terminated_length",
    "completion_clipped_ratio",
    "value_loss",
    "alignment",
    "diversity",
    "cfm_loss",
    "epoch",
};

}  // namespace

std::string_view name(Role role) { return k_names[static_cast<std::size_t>(role)]; }

std::optional<Role> role_of(std::string_view name) {
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (k_names[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace aplomb::record
