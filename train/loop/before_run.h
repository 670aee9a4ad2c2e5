#pragma once
/// What `aplomb check` and `aplomb plan` say of a run before its first step, in-process.

#include <optional>
#include <string>
#include <vector>

#include "record/run.h"
#include "train/loop/live_judge.h"

namespace aplomb::train::loop {

struct Forecast {
  std::vector<Said> said;   ///< findings of at least `warning`, then the plan in one line
  double needed_bytes = 0;  ///< by the plan; 0: unknown
  bool fits = true;         ///< beside `free_bytes`
};

/// Operations of the model's products that a token of training takes (forward and backward, nothing
/// done twice), by the plan. Nothing where the plan cannot tell.
std::optional<double> flops_per_token(const std::vector<record::Setting>& settings);

/// `free_bytes`: of the device's memory; 0: unknown.
Forecast judge_before(const std::vector<record::Setting>& settings, double free_bytes);

}  // namespace aplomb::train::loop
