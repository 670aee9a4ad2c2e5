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
  const record::Series* a = nullptr;
  const record::Series* b = nullptr;
  record::StepKind kind = record::StepKind::explicit_;  ///< how both are to be taken
  std::string refusal;  ///< why the two cannot be compared; empty where they can
};

/// Speed and memory have places of their own (Comparison::levels); positions in the run are none.
bool is_level(record::Role role);
bool is_position(const record::Series& series);

std::vector<Common> common_metrics(const record::Run& a, const record::Run& b);

/// 1: higher is better, -1: lower, 0: neither is known.
int better_of(record::Role role);

/// Whether a metric of this role is what training is for. `has_reward`: of reinforcement learning,
/// where the loss is a surrogate whose level says nothing.
bool is_outcome(record::Role role, bool has_reward);

bool is_held_out(record::Role role);

/// Lower leads: held-out data before training data, losses before scores.
int order_of(record::Role role);

}  // namespace aplomb::compare
