#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "plan/plan.h"

namespace aplomb::plan {
namespace {

using Changes = std::vector<std::pair<std::string, core::Value>>;

/// A rung knows when it changes anything, and what it sets.
struct RungKind {
  const char* id;
  const char* text;
  std::function<bool(const Plan&)> applies;
  std::function<Changes(const Plan&)> set;
};

bool trains_with_adamw(const Plan& plan) {
  return plan.training.optimizer == Optimizer::adamw && plan.step.trained > 1e8;
}

/// From least to most disruptive: what leaves the training as it is comes first, then what changes
/// its arithmetic, then what changes what is learned from, then other machines. Axolotl's stability guide
/// has attention kernels behind checkpointing, quantisation and the length; here they come second, for
/// they give back time as well as memory, and behind checkpointing alone their scores no longer show.
const std::vector<RungKind>& rungs() {
  static const std::vector<RungKind> the_rungs = {
      {"smaller-micro-batch",
       "micro-batch of one, with as much more accumulation: the effective batch stays",
       [](const Plan& plan) {
         return plan.training.batch.micro > 1 && !plan.training.rollouts.grpo;
       },
       [](const Plan& plan) {
         return Changes{
             {"batch.micro", 1.0},
             {"batch.accumulation", plan.training.batch.accumulation * plan.training.batch.micro}};
       }},
      {"smaller-micro-batch", "half the completions a pass, twice the accumulation",
       [](const Plan& plan) {
         return plan.training.rollouts.grpo && plan.training.batch.micro >= 2;
       },
       [](const Plan& plan) {
         return Changes{{"batch.micro", std::floor(plan.training.batch.micro / 2)},
                        {"batch.accumulation", plan.training.batch.accumulation * 2}};
       }},
      {"fused-attention", "an attention that does not store its scores (SDPA, FlashAttention)",
       [](const Plan& plan) { return plan.training.kernels.attention == Attention::eager; },
       [](const Plan&) { return Changes{{"attn.impl", std::string("sdpa")}}; }},
      {"checkpointing", "gradient checkpointing: layers are computed again in backward",
       [](const Plan& plan) { return !plan.training.checkpointing; },
       [](const Plan&) { return Changes{{"memory.gradient_checkpointing", true}}; }},
      {"fused-loss", "a loss that never holds the logits as a whole (Liger, cut cross-entropy)",
       [](const Plan& plan) {
         return !plan.training.kernels.fused_loss && !plan.training.rollouts.grpo;
       },
       [](const Plan&) { return Changes{{"memory.fused_loss", true}}; }},
      {"8-bit-optimizer", "8-bit AdamW: its moments in one byte each", trains_with_adamw,
       [](const Plan&) { return Changes{{"optim.name", std::string("adamw_8bit")}}; }},
      {"shard-gradients", "ZeRO-2: optimizer state and gradients shared out over the GPUs",
       [](const Plan& plan) {
         return plan.training.ranks() > 1 && plan.training.parallelism.zero < 2;
       },
       [](const Plan&) { return Changes{{"dist.zero_stage", 2.0}}; }},
      {"shard-weights", "ZeRO-3 or FSDP: the weights shared out as well",
       [](const Plan& plan) {
         return plan.training.ranks() > 1 && plan.training.parallelism.zero < 3;
       },
       [](const Plan&) { return Changes{{"dist.zero_stage", 3.0}}; }},
      {"adapter", "LoRA in place of training every weight",
       [](const Plan& plan) { return plan.training.method == Method::full; },
       [](const Plan&) {
         return Changes{{"peft.method", std::string("lora")}, {"peft.rank", 16.0}};
       }},
      {"quantised-base", "a frozen base in 4 bits under the adapter (QLoRA)",
       [](const Plan& plan) {
         return plan.training.method != Method::full && !plan.training.quantisation.on &&
                plan.shape.experts.count <= 0;
       },
       [](const Plan&) { return Changes{{"quant.bits", 4.0}, {"quant.double", true}}; }},
      {"shorter", "half the sequence length",
       [](const Plan& plan) {
         return plan.training.batch.length >= 512 && !plan.training.rollouts.grpo;
       },
       [](const Plan& plan) {
         return Changes{{"data.max_length", std::floor(plan.training.batch.length / 2)}};
       }},
      {"shorter", "half the completion length",
       [](const Plan& plan) {
         return plan.training.rollouts.grpo && plan.training.rollouts.completion >= 256;
       },
       [](const Plan& plan) {
         return Changes{
             {"rl.max_completion_length", std::floor(plan.training.rollouts.completion / 2)}};
       }},
      {"offload-optimizer", "optimizer state in the host's memory",
       [](const Plan& plan) { return !plan.training.offload.optimizer; },
       [](const Plan&) { return Changes{{"dist.offload_optimizer", std::string("cpu")}}; }},
      {"offload-weights", "weights in the host's memory as well",
       [](const Plan& plan) {
         return !plan.training.offload.weights && plan.training.parallelism.zero >= 3;
       },
       [](const Plan&) { return Changes{{"dist.offload_params", std::string("cpu")}}; }},
  };
  return the_rungs;
}

/// Less than this is not worth a change of the run.
constexpr double k_worth_telling = 64.0 * 1024 * 1024;

double time_per_token(const Plan& plan) {
  return plan.tokens_per_s > 0 ? 1 / plan.tokens_per_s : 0;
}

}  // namespace

std::vector<Rung> ladder(const Known& known, std::string_view framework, const PlanRequest& request,
                         const Plan& plan) {
  std::vector<Rung> out;
  Known so_far = known;
  Plan before = plan;
  for (const RungKind& kind : rungs()) {
    if (!kind.applies(before)) continue;
    Known changed = so_far;
    Changes set = kind.set(before);
    for (const auto& [name, value] : set) changed.put(name, value, "plan");
    const auto after = make_plan(changed, framework, request);
    if (!after) continue;
    const double saved = before.needed_bytes - after->needed_bytes;
    if (saved < k_worth_telling) continue;
    Rung rung{kind.id, kind.text, std::move(set), after->needed_bytes, saved, 0, after->fits};
    if (time_per_token(before) > 0) rung.slowdown = time_per_token(*after) / time_per_token(before);
    out.push_back(std::move(rung));
    so_far = std::move(changed);
    before = *after;
  }
  return out;
}

}  // namespace aplomb::plan
