#include "plan/savings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/plan.h"

namespace aplomb::plan {
namespace {

constexpr double k_master_and_moments = 12;  // bytes a parameter: fp32 weight and two moments
constexpr double k_moments = 8;
constexpr double k_moments_8bit = 2;
constexpr double k_gradient = 2;
constexpr double k_layer_bytes = 34;  // per token and hidden unit, 16-bit activations
constexpr double k_score_bytes = 5;   // per head and pair of tokens
constexpr double k_kept_bytes = 2;    // a checkpointed layer keeps its input
constexpr double k_bytes_16_to_4_bit = 1.5;
constexpr double k_worth_telling = 64.0 * 1024 * 1024;

bool is_adapter(const Known& known) {
  const std::string method = known.word("peft.method");
  return method == "lora" || method == "qlora" || method == "dora";
}

bool has_adam(const Known& known) {
  const std::string name = known.word("optim.name");
  return name == "adamw" || name == "adam";
}

double ranks_of(const Known& known) {
  for (const char* each : {"batch.world", "dist.world_size", "env.gpu_count"}) {
    if (const double ranks = known.size(each, 0); ranks > 0) return ranks;
  }
  return 1;
}

/// By the accounting of the papers, from whatever is known.
class Rough {
 public:
  explicit Rough(const Known& known) : known_(known) {}

  std::vector<Saving> all() {
    activations();
    states();
    if (is_adapter(known_) && !known_.has("quant.bits"))
      tell("quantised", known_.size("model.params", 0) * k_bytes_16_to_4_bit);
    return std::move(all_);
  }

 private:
  void tell(const char* rung, double bytes) {
    if (bytes >= k_worth_telling) all_.push_back({rung, bytes});
  }

  /// What forward keeps for backward.
  void activations() {
    const double micro = known_.size("batch.micro", 0);
    const double length = known_.size("data.max_length", 0);
    const double hidden = known_.size("model.hidden", 0);
    const double layers = known_.size("model.layers", 0);
    if (micro * length * hidden * layers <= 0) return;
    const double tokens = micro * length;
    const double inputs = k_kept_bytes * tokens * hidden * layers;
    const double layer = k_layer_bytes * tokens * hidden;
    const bool eager = known_.word("attn.impl") == "eager";
    const double scores =
        eager ? k_score_bytes * known_.size("model.heads", 0) * tokens * length : 0;
    const bool checkpointed = known_.truth("memory.gradient_checkpointing");
    const double held = checkpointed ? inputs + layer + scores : (layer + scores) * layers;
    if (micro >= 2) tell("half_micro", held / 2);
    tell("half_length", held / 2);
    if (!checkpointed) tell("checkpointing", held - inputs - layer - scores);
    tell("no_scores", checkpointed ? scores : scores * layers);
  }

  /// Optimizer state and gradients of what trains.
  void states() {
    double trained = known_.size("model.trainable_params", 0);
    if (trained == 0 && !is_adapter(known_)) trained = known_.size("model.params", 0);
    const bool plain = known_.word("precision.compute") == "fp32";
    const double state = plain ? k_moments : k_master_and_moments;
    if (has_adam(known_)) tell("adam_8bit", trained * (k_moments - k_moments_8bit));
    tell("offload", trained * state);
    const double ranks = ranks_of(known_);
    if (ranks >= 2) tell("zero2", trained * (state + k_gradient) * (1 - 1 / ranks));
  }

  const Known& known_;
  std::vector<Saving> all_;
};

/// By a plan with the change beside one without.
class Planned {
 public:
  Planned(const Known& known, std::string_view framework, const Plan& plan)
      : known_(known), framework_(framework), plan_(plan) {}

  std::vector<Saving> all() {
    const Training& training = plan_.training;
    if (training.batch.micro >= 2) tell("half_micro", "batch.micro", training.batch.micro / 2);
    if (known_.has("data.max_length"))
      tell("half_length", "data.max_length", training.batch.length / 2);
    if (!training.checkpointing) tell("checkpointing", "memory.gradient_checkpointing", true);
    if (training.kernels.attention == Attention::eager)
      tell("no_scores", "attn.impl", std::string("sdpa"));
    if (has_adam(known_)) tell("adam_8bit", "optim.name", std::string("adamw_8bit"));
    if (training.ranks() >= 2 && training.parallelism.zero < 2)
      tell("zero2", "dist.zero_stage", 2.0);
    if (!training.offload.optimizer) tell("offload", "dist.offload_optimizer", std::string("cpu"));
    if (is_adapter(known_) && !training.quantisation.on) tell("quantised", "quant.bits", 4.0);
    return std::move(all_);
  }

 private:
  void tell(const char* rung, const char* setting, core::Value value) {
    Known changed = known_;
    changed.put(setting, std::move(value), "plan");
    const auto after = make_plan(changed, framework_, {});
    const double bytes = after ? plan_.needed_bytes - after->needed_bytes : 0;
    if (bytes >= k_worth_telling) all_.push_back({rung, bytes});
  }

  const Known& known_;
  std::string_view framework_;
  const Plan& plan_;
  std::vector<Saving> all_;
};

}  // namespace

std::vector<Saving> savings(const Known& known, std::string_view framework, bool exact) {
  if (exact && known.has("batch.micro") && known.has("data.max_length")) {
    Known with_ranks = known;
    const double ranks = ranks_of(known);
    if (ranks > 1) with_ranks.put("dist.world_size", ranks, "plan");
    if (const auto plan = make_plan(with_ranks, framework, {}))
      return Planned(with_ranks, framework, *plan).all();
  }
  return Rough(known).all();
}

}  // namespace aplomb::plan
