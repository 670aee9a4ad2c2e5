#pragma once
/// The small GRPO loop: a tiny Llama that has seen some sums learns the rest by reinforcement.
///
///     GrpoRun run = run_grpo({.seed = 3}, {});
///     run.records.back().values;  // {"loss", ...}, {"reward", ...}: as TRL names and rounds them
///
/// One thread, torch's CPU generator: the same configuration gives the same records, their times
/// apart. The formulas and their sources: rl_grpo.h.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/lab/rl_arithmetic.h"
#include "train/lab/rl_grpo.h"
#include "train/lab/rl_policy.h"

namespace aplomb::train::lab {

/// What a user would set. Names as in TRL's GRPOConfig where it has one.
struct GrpoConfig {
  std::uint64_t seed = 0;
  PolicyShape model = {};
  int largest = 6;  ///< of the two numbers that are added
  WarmStart warm_start = {};
  std::int64_t max_steps = 150;  ///< updates of the weights
  std::int64_t prompts = 16;     ///< a batch of samples
  std::int64_t num_generations = 8;
  std::int64_t num_iterations = 1;  ///< updates on each batch of samples
  std::int64_t max_completion_length = 12;
  std::int64_t logging_steps = 1;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double learning_rate = 3e-3;
  double max_grad_norm = 1.0;
  double beta = 0.02;  ///< 0: no reference, and no `kl` in the records
  double epsilon = 0.2;
  double entropy_coef = 0;
  LossType loss_type = LossType::dapo;
  std::vector<RewardFunction> rewards = {correctness_reward(), format_reward()};
  /// A sampler of its own (as vLLM is), with weights that are pushed to it: `sampling/...` records.
  bool own_sampler = false;
};

/// What can be wrong in the code around it; none of it is in a configuration file.
struct GrpoBugs {
  bool never_synced = false;           ///< the sampler keeps the weights that it began with
  double sampler_temperature = 0;      ///< that the sampler takes instead; 0: the configured one
  bool raw_sampler_log_probs = false;  ///< the sampler reports them as before its temperature
  double entropy_sign = 1;             ///< -1: the bonus is added to the loss
  double kl_sign = 1;                  ///< -1: the penalty is taken from the loss
  bool gradients_cleared = false;      ///< between the backward pass and the step
};

struct GrpoRecord {
  std::int64_t step = 0;  ///< updates made
  /// In the order of the log; unset where a trainer prints None.
  std::vector<std::pair<std::string, std::optional<double>>> values;

  std::optional<double> get(const std::string& name) const;
};

struct GrpoRun {
  std::vector<GrpoRecord> records;
  std::vector<std::pair<std::int64_t, std::string>> warnings;  ///< each once, at its first step
  std::int64_t parameters = 0;
  std::int64_t problems = 0;
  double warm_start_loss = 0;
  double seconds = 0;
  std::string error;                     ///< what ended the run by itself; empty: nothing
  std::vector<std::int64_t> guard_acts;  ///< steps at which the guard did more than clip
  bool halted = false;                   ///< it ended the run
};

/// `guarded`: gradients are judged by the guard (skips, rollbacks, halts), which else only clips at
/// max_grad_norm.
GrpoRun run_grpo(const GrpoConfig& config, const GrpoBugs& bugs, bool guarded = false);

}  // namespace aplomb::train::lab
