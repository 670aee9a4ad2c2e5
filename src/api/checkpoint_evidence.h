#pragma once
/// What checkpoints say about a run, in the words of the diagnosis: facts (`ckpt.*`), symptoms
/// (`tensor.frozen`, `tensor.nonfinite`, `pickle.dangerous` ...) and, as Events, the
/// tensors that show them.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_map.h"
#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_diff.h"
#include "checkpoint/tensor_survey.h"
#include "checkpoint/weight_checks.h"
#include "detectors/symptom.h"
#include "record/run.h"

namespace aplomb::api {

class CheckpointEvidence {
 public:
  /// Adds to both; they must outlive this.
  CheckpointEvidence(record::Run& run, std::vector<detectors::Symptom>& symptoms)
      : run_(run), symptoms_(symptoms) {}

  /// The files of a checkpoint become sources of the run (those that it has already stay), and what
  /// the readers found in them symptoms.
  void files(const checkpoint::Checkpoint& checkpoint);
  /// What became of its files since; for when the last byte has been read.
  void changes(const checkpoint::Checkpoint& checkpoint);
  void survey(const checkpoint::Checkpoint& checkpoint, const checkpoint::Survey& seen);
  void precision(const checkpoint::Checkpoint& checkpoint, const checkpoint::Precision& predicted);
  /// `precision` of the earlier or later checkpoint, where there is one, tells intent from loss: a
  /// frozen tensor that the optimizer holds was meant to train.
  void diff(const checkpoint::Checkpoint& before, const checkpoint::Checkpoint& after,
            const checkpoint::CheckpointDiff& diff);
  /// Weights that the optimizer was not given.
  void unheld(const checkpoint::Checkpoint& checkpoint, const checkpoint::ParameterMap& map);
  void resume(const checkpoint::Checkpoint& checkpoint, const checkpoint::ResumeAudit& audit);

 private:
  void tell(const checkpoint::Checkpoint& checkpoint,
            const std::vector<tensors::Finding>& findings);
  void notes(const checkpoint::Checkpoint& checkpoint,
             const std::vector<checkpoint::WeightNote>& all);
  void dtype(const checkpoint::Checkpoint& checkpoint);
  record::SourceId source_of(const std::string& path);
  record::Origin origin_of(const checkpoint::Checkpoint& checkpoint, const tensors::Tensor& tensor);
  /// Notes a tensor in words; the first few of a symptom become its evidence.
  void show(detectors::Symptom& symptom, const checkpoint::Checkpoint& checkpoint,
            const tensors::Tensor& tensor, const std::string& text);
  void fact(const char* name, core::Value value, std::string because);
  detectors::Symptom start(const checkpoint::Checkpoint& checkpoint, std::string id,
                           core::Severity severity) const;

  record::Run& run_;
  std::vector<detectors::Symptom>& symptoms_;
};

/// Looks into the newest checkpoints of a run that was collected: at most the last two, and at most
/// k_most_bytes of tensors; larger ones get a note that names `aplomb ckpt`.
constexpr std::uint64_t k_most_checkpoint_bytes = 2ULL << 30U;
/// `named`: the paths that were asked for; of a file among them its neighbours are not opened.
void add_checkpoint_evidence(record::Run& run, std::vector<detectors::Symptom>& symptoms,
                             const std::vector<std::string>& named);

}  // namespace aplomb::api
