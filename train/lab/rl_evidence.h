#pragma once
/// What a user of a GRPO trainer has when a run is over: the log, the state file or the metrics,
/// and the configuration; and the Trace of the run, for the live judges.

#include <string>

#include "core/result.h"
#include "train/lab/fault.h"
#include "train/lab/rl_loop.h"

namespace aplomb::train::lab {

/// Series under the names of knowledge/series.yaml. What a trainer prints as None is left out.
Trace trace_of(const GrpoRun& run, const GrpoConfig& config);

/// The configuration alone, into `folder`: what the user has before the run.
core::Result<void> write_rl_settings(const GrpoConfig& config, Style style,
                                     const std::string& folder);

/// Into `folder`, which is made: the log (evidence.h names it) and the configuration in TRL's keys;
/// hf: also checkpoint-<n>/trainer_state.json, own: metrics.jsonl. The log is TRL's, but for plain:
/// that of a loop of the user's own.
core::Result<void> write_rl_evidence(const GrpoRun& run, const GrpoConfig& config, Style style,
                                     const std::string& folder);

}  // namespace aplomb::train::lab
