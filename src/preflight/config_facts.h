#pragma once
/// What a configuration asks for, beyond what the diagnosis derives from it (src/facts): how often
/// is saved and evaluated, what a generation batch holds, sizes that do not fit together, what is
/// said twice. The names (`config.*`) are declared in knowledge/facts.yaml; preflight.yaml holds
/// those that are conditions over others.

#include <string_view>
#include <vector>

#include "facts/fact_graph.h"
#include "record/run.h"

namespace aplomb::preflight {

/// `run` with what its trainer does by default put before what it says (which wins). Defaults have
/// an Origin of no source. A run that configures no training is given back as it is.
record::Run with_defaults(const record::Run& run);

/// `run` without settings that speak of evaluation (`eval_loader.dataset.shuffle`) where the same
/// one is stated for training as well.
record::Run without_evaluation(record::Run run);

/// Whether an Origin is that of a default.
bool is_default(const record::Origin& origin);

std::vector<facts::Deriver> course_facts();  ///< trainer, batch, cadence, order of the data
std::vector<facts::Deriver> size_facts();    ///< what must fit together, and what is said twice

/// All of them. They ask for what the diagnosis derives: its graph runs before.
std::vector<facts::Deriver> config_derivers();

/// The same, sorted. Thread-safe after the first call.
const facts::FactGraph& config_graph();

}  // namespace aplomb::preflight
