#pragma once
/// What is odd about weights on sight, beyond NaN and zeros: each check is one entry of a table
/// that says what it finds, why that is bad, and where its threshold comes from.

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_survey.h"

namespace aplomb::checkpoint {

/// What a check of a checkpoint finds; for `aplomb list` and `aplomb explain`.
struct CheckpointSymptom {
  std::string_view id;
  std::string_view summary;
  std::string_view why_bad;
  std::string_view source;  ///< of the threshold, or of the knowledge
};

/// Every symptom that checkpoints can show, those of files and pickles as well.
const std::vector<CheckpointSymptom>& checkpoint_symptoms();

struct WeightNote {
  std::string_view id;
  core::Severity severity = core::Severity::note;
  std::size_t tensor = 0;  ///< index into Checkpoint::tensors
  std::string text;
};

/// The notes of all checks, check by check; a checkpoint of step 0 is held against the usual
/// initialisation too. Reads embeddings once more, row by row, and tensors
/// with equal statistics byte by byte.
std::vector<WeightNote> check_weights(const Checkpoint& checkpoint, const Survey& survey);

}  // namespace aplomb::checkpoint
