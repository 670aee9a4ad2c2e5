#pragma once
/// The derivers that the diagnosis and `aplomb check` share: what follows from a configuration
/// alone, each formula once. The names are declared in knowledge/facts.yaml.

#include <vector>

#include "facts/fact_graph.h"

namespace aplomb::facts {

std::vector<Deriver> framework_facts();  ///< what its framework is made for
std::vector<Deriver> training_facts();   ///< what trains: weights or adapter, by which optimizer
std::vector<Deriver> batch_facts();      ///< data-parallel ranks and the global batch
std::vector<Deriver> length_facts();     ///< steps, passes over the data, warm-up, decay

/// All of the above.
std::vector<Deriver> common_facts();

}  // namespace aplomb::facts
