#pragma once
/// The `aplomb ckpt` commands as Reports: what was measured, and what the knowledge base makes of
/// it. The same data in full goes to the command's own table.

#include <aplomb/report.h>

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_map.h"
#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_diff.h"
#include "checkpoint/tensor_survey.h"

namespace aplomb::api {

/// What a command looked at; what it did not is null.
struct CheckpointFindings {
  const checkpoint::Checkpoint* before = nullptr;
  const checkpoint::Checkpoint* checkpoint = nullptr;  ///< never null
  const checkpoint::Survey* survey = nullptr;
  const checkpoint::CheckpointDiff* diff = nullptr;
  const checkpoint::Precision* precision = nullptr;
  const checkpoint::ResumeAudit* resume = nullptr;
  const checkpoint::ParameterMap* parameters = nullptr;
};

/// Healthy where nothing above a note was found.
Report report_checkpoint(const CheckpointFindings& findings, std::size_t most_causes);

/// The checkpoint that a path stands for: itself, or the newest of a run's output folder
/// (`out/` -> `out/checkpoint-500`).
core::Result<checkpoint::Checkpoint> open_newest_checkpoint(const std::string& path,
                                                            bool verify = false);

}  // namespace aplomb::api
