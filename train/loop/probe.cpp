#include "train/loop/probe.h"

#include <ATen/Parallel.h>
#include <cmath>

#include "train/loop/gradients.h"

namespace aplomb::train::loop {

std::vector<ProbeStep> probe(Trainee& trainee, const ProbePlan& plan) {
  AdamW optimizer(trainee.trainable(), {.lr = 1, .weight_decay = 0});
  GradientScan scan(at::get_num_threads());
  std::vector<ProbeStep> seen;
  for (std::int64_t step = 0; step < plan.steps; ++step) {
    const text::TokenBatch batch = plan.batch(step);
    for (const NamedTensor& each : trainee.trainable()) each.tensor.mutable_grad().reset();
    const at::Tensor loss =
        trainee.loss_sum(batch) / static_cast<double>(std::max<std::int64_t>(batch.counted(), 1));
    if (loss.requires_grad()) loss.backward();
    double squares = 0;
    bool finite = true;
    for (const GuardGroup& each : scan.read(trainee.trainable())) {
      squares += each.sum_squares;
      finite = finite && each.nonfinite == 0;
    }
    ProbeStep now{plan.lr(step), loss.item<double>(), std::sqrt(squares)};
    if (!finite) now.grad_norm = NAN;
    seen.push_back(now);
    if (!std::isfinite(now.loss) || !finite) break;
    if (plan.max_grad_norm > 0 && now.grad_norm > plan.max_grad_norm)
      scale_gradients(trainee.trainable(), plan.max_grad_norm / (now.grad_norm + 1e-6), {});
    optimizer.step(now.lr);
    if (plan.enough && plan.enough(seen)) break;
  }
  for (const NamedTensor& each : trainee.trainable()) each.tensor.mutable_grad().reset();
  return seen;
}

}  // namespace aplomb::train::loop
