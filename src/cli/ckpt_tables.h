#pragma once
/// What the `aplomb ckpt` commands print for people.

#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_map.h"
#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_diff.h"
#include "checkpoint/tensor_survey.h"

namespace aplomb::cli {

/// `most`: rows of single tensors at most; the summaries by kind are whole.
std::string survey_table(const checkpoint::Checkpoint& checkpoint, const checkpoint::Survey& survey,
                         std::size_t most);
std::string diff_table(const checkpoint::CheckpointDiff& diff, std::size_t most);
std::string precision_table(const checkpoint::Precision& own, const checkpoint::Precision& in_bf16,
                            const checkpoint::Precision& in_fp32, std::size_t most);
std::string optimizer_table(const checkpoint::Checkpoint& checkpoint,
                            const checkpoint::ParameterMap& map, std::size_t most);
std::string resume_table(const checkpoint::ResumeAudit& audit);

}  // namespace aplomb::cli
