#pragma once
/// Probe: a few optimizer steps without records, guard or checkpoints, for the runs that answer one
/// question (diagnostic_runs.h).

#include <functional>
#include <vector>

#include "train/loop/trainee.h"

namespace aplomb::train::loop {

struct ProbeStep {
  double lr = 0;
  double loss = 0;
  double grad_norm = 0;
};

struct ProbePlan {
  std::int64_t steps = 0;
  double max_grad_norm = 0;                                   ///< 0: no clipping
  std::function<double(std::int64_t)> lr;                     ///< by step, from 0
  std::function<text::TokenBatch(std::int64_t)> batch;        ///< likewise
  std::function<bool(const std::vector<ProbeStep>&)> enough;  ///< empty: never
};

/// AdamW without weight decay on what trains; ends early at a loss that is not finite (the last
/// step then) or where `enough` says so.
std::vector<ProbeStep> probe(Trainee& trainee, const ProbePlan& plan);

}  // namespace aplomb::train::loop
