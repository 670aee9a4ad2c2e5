#pragma once
/// What a configuration asks for, computed from its settings before anything runs: the global
/// batch, steps and passes over the data, how much of the run warms up, what a generation batch
/// holds, sizes that do not fit together. The names (`asked.*`) are declared in
/// knowledge/preflight.yaml.

#include <string_view>

#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb::preflight {

/// `run` with what its trainer does by default put before what it says (which wins). Defaults have
/// an Origin of no source. A run that configures no training is given back as it is.
record::Run with_defaults(const record::Run& run);

/// `run` without settings that speak of evaluation (`eval_loader.dataset.shuffle`) where the same
/// one is stated for training as well.
record::Run without_evaluation(record::Run run);

/// Whether `slug` is `base` or stands on it (LLaMA-Factory on the Hugging Face Trainer).
bool is_kind_of(std::string_view slug, std::string_view base);

/// Whether an Origin is that of a default.
bool is_default(const record::Origin& origin);

/// Adds the facts that follow. `facts` are those of gather_facts() on the same run.
void add_asked_facts(const record::Run& run, diagnosis::FactTable& facts);

}  // namespace aplomb::preflight
