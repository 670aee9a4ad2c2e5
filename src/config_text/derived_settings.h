#pragma once
#include "record/run.h"

namespace aplomb::config_text {

/// What follows from the card that a run names (knowledge/hardware.yaml), as facts: hardware.bf16,
/// hardware.fp8, hardware.memory_bytes, hardware.compute_capability. Nothing where no card is
/// known. Also dist.zero_stage from the name of a DeepSpeed configuration file
/// (`ds_z3_offload.json`) and model.params from that of the model (`Llama-3-8B`), where nothing
/// states them, whether a response template ends in a blank, and schedule.acting_lr where a
/// schedule has a peak of its own that nobody set.
void add_derived_settings(record::Run& run);

}  // namespace aplomb::config_text
