#pragma once
/// Which series of two runs are the same metric, in the same unit, and what it means when it
/// differs.

#include <optional>
#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::compare {

/// A metric that both runs have; the series of each that has the most samples of it.
struct Common {
  const Series* a = nullptr;
  const Series* b = nullptr;
  StepKind kind = StepKind::explicit_;  ///< how both are to be taken
  std::string refusal;                  ///< why the two cannot be compared; empty where they can
};

/// Speed and memory have places of their own (Comparison::levels); positions in the run are none.
bool is_level(Role role);
bool is_position(const Series& series);

std::vector<Common> common_metrics(const Run& a, const Run& b);

/// 1: higher is better, -1: lower, 0: neither is known.
int better_of(Role role);

/// Whether a metric of this role is what training is for. `has_reward`: of reinforcement learning,
/// where the loss is a surrogate whose level says nothing.
bool is_outcome(Role role, bool has_reward);

bool is_held_out(Role role);

/// Lower leads: held-out data before training data, losses before scores.
int order_of(Role role);

}  // namespace aplomb::compare
