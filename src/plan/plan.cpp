#include "plan/plan.h"

#include <algorithm>

#include "plan/machine.h"

namespace aplomb::plan {
namespace {

constexpr double k_seconds_an_hour = 3600;

std::string bound_of(const Step& step) {
  const double memory = step.memory_s + step.optimizer_s;
  if (step.host_s > std::max(step.product_s, memory)) return "host";
  if (step.exposed_s > std::max(step.product_s, memory)) return "interconnect";
  return step.product_s >= memory ? "compute" : "memory";
}

void tell_speed(Plan& plan, const SeenMachine& seen, const Known& known,
                const PlanRequest& request) {
  const Step& step = plan.step;
  if (step.step_s <= 0) return;
  plan.tokens_per_s = step.tokens / step.step_s;
  if (seen.peak_flops > 0)
    plan.mfu = step.model_flops * plan.training.batch.accumulation / step.step_s / seen.peak_flops;
  plan.bound = bound_of(step);
  const double samples = known.size("data.samples", 0);
  if (samples <= 0) return;
  const double per_step =
      plan.training.batch.micro * plan.training.batch.accumulation * plan.training.ranks();
  plan.epoch_s = samples / per_step * step.step_s;
  if (request.price_per_gpu_hour > 0)
    plan.epoch_cost = *plan.epoch_s / k_seconds_an_hour * request.price_per_gpu_hour *
                      plan.training.parallelism.gpus;
}

}  // namespace

core::Result<Plan> make_plan(const Known& stated, std::string_view framework,
                             const PlanRequest& request) {
  Known known = stated;
  const double named = gpus_named(request.gpu);
  if (named > 0 && !known.has("dist.world_size")) known.put("dist.world_size", named, "gpu");
  Plan plan;
  auto shape = model_shape(known);
  if (!shape && take_named_model(known)) {
    shape = model_shape(known);
    plan.assumed.push_back({"model", "sizes of " + known.word("model.name") +
                                         " as published: no config.json was given"});
  }
  if (!shape) return tl::unexpected(shape.error());
  plan.shape = std::move(*shape);
  plan.training = training_of(known, plan.shape, framework, plan.assumed);
  const SeenMachine seen = machine_of(known, request.gpu, plan.training);
  plan.step = run_step(plan.shape, plan.training, seen.machine);
  plan.gpu = seen.name;
  plan.rates_verified = seen.verified;
  plan.capacity_bytes = seen.machine.memory_bytes;
  plan.context_bytes = plan.training.cpu ? 0 : seen.context_bytes;
  const double pool = plan.step.peak.total();
  plan.margin_bytes = plan.training.cpu ? 0 : pool * seen.fragmentation;
  plan.needed_bytes = pool + plan.margin_bytes + plan.context_bytes;
  plan.fits = plan.capacity_bytes <= 0 || plan.needed_bytes <= plan.capacity_bytes;
  tell_speed(plan, seen, known, request);
  return plan;
}

}  // namespace aplomb::plan
