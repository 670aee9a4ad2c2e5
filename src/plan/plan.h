#pragma once
/// Plan: what a run will need and how fast it can be, before it is paid for. From settings alone: a
/// config.json, a trainer's configuration, flags.
///
///     Result<Plan> plan = make_plan(Known(settings), "axolotl", {.gpu = "8xH100 80GB"});
///     if (plan) plan->needed_bytes, plan->fits, plan->step.peak[Part::logits] ...
///
/// Fails where the sizes of the model are not known. Pure: no file, no clock, no network; about a
/// millisecond for a model of 80 layers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/known.h"
#include "plan/model_shape.h"
#include "plan/step.h"
#include "plan/training.h"

namespace aplomb::plan {

struct PlanRequest {
  std::string gpu;                ///< `H100`, `8xA100 40GB`; empty: what the settings name
  double price_per_gpu_hour = 0;  ///< 0: no cost is told
};

/// One rung of the ladder of changes against an out-of-memory error, from least to most disruptive.
struct Rung {
  std::string id;                                        ///< `half-micro`
  std::string text;                                      ///< what to change, for people
  std::vector<std::pair<std::string, core::Value>> set;  ///< canonical settings
  double needed_bytes = 0;                               ///< with this rung and all before it
  double saved_bytes = 0;                                ///< by this rung after those before it
  double slowdown = 1;  ///< time per token, to that before it; 0: unknown
  bool fits = false;
};

struct Plan {
  ModelShape shape;
  Training training;
  Step step;
  std::string gpu;             ///< the card's name; empty: unknown
  bool rates_verified = true;  ///< whether the card's figures could be compared with its source
  double capacity_bytes = 0;   ///< 0: unknown
  double context_bytes = 0;    ///< held outside PyTorch's pool: CUDA, NCCL
  double margin_bytes = 0;     ///< lost to fragmentation
  double needed_bytes = 0;
  bool fits = true;
  double tokens_per_s = 0;  ///< over all GPUs; 0: unknown
  double mfu = 0;
  std::string bound;  ///< `compute`, `memory`, `interconnect`, `host`
  std::optional<double> epoch_s;
  std::optional<double> epoch_cost;
  std::vector<Assumption> assumed;
};

core::Result<Plan> make_plan(const Known& known, std::string_view framework,
                             const PlanRequest& request);

/// The ladder for a plan: each rung applied on top of those before it, those that change nothing
/// left out.
std::vector<Rung> ladder(const Known& known, std::string_view framework, const PlanRequest& request,
                         const Plan& plan);

}  // namespace aplomb::plan
