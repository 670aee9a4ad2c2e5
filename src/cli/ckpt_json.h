#pragma once
/// What a `aplomb ckpt` command measured, tensor by tensor: the key `checkpoint` beside the report.

#include <string>

#include "api/checkpoint_report.h"

namespace aplomb::cli {

/// `report`: JSON of the schema aplomb.report/1; gains `checkpoint` {path, step, files, tensors[]}.
std::string with_tensors(const std::string& report, const api::CheckpointFindings& findings);

}  // namespace aplomb::cli
