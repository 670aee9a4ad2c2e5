#pragma once
/// Step: one optimizer step on one GPU, run on the tape: what is held when, the most there is, and
/// how long it takes.

#include <string>
#include <vector>

#include "plan/clock.h"
#include "plan/ledger.h"
#include "plan/model_shape.h"
#include "plan/training.h"

namespace aplomb::plan {

/// A stretch of the step with its own peak.
struct Moment {
  std::string name;  ///< `forward`, `backward`, `optimizer step`, `generation`
  Bytes peak;
};

struct Step {
  double parameters = 0;  ///< of the model, over all GPUs
  double trained = 0;
  double adapter = 0;
  Bytes kept;   ///< at the end of forward, before backward: what is held
  Bytes whole;  ///< gradients and optimizer where they are complete
  std::vector<Moment> moments;
  Bytes peak;  ///< of all moments
  std::string peak_at;
  double host_bytes = 0;  ///< on the host, for this GPU (offload)

  double flops = 0;        ///< of one micro-batch on this GPU, recomputation included
  double model_flops = 0;  ///< without recomputation (arXiv:2204.02311, appendix B)
  double product_s = 0, memory_s = 0, optimizer_s = 0, exchange_s = 0, exposed_s = 0, host_s = 0,
         step_s = 0;
  double tokens = 0;  ///< a step, over all GPUs
};

/// What one GPU and its links reach; 0 where unknown.
struct Machine {
  Rates rates;
  double link_bytes_per_s = 0;  ///< to the other GPUs, one direction
  double host_bytes_per_s = 0;  ///< to the host
  double memory_bytes = 0;
};

Step run_step(const ModelShape& shape, const Training& training, const Machine& machine);

}  // namespace aplomb::plan
