#pragma once
/// What checkpoints say about a run, in the words of the diagnosis: facts (`ckpt.*`), symptoms
/// (`tensor.frozen`, `tensor.nonfinite`, `pickle.suspicious-global` ...) and, as Events, the
/// tensors that show them.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_diff.h"
#include "checkpoint/tensor_survey.h"
#include "checkpoint/weight_checks.h"
#include "detectors/symptom.h"
#include "record/run.h"

namespace aplomb {

class CheckpointEvidence {
 public:
  /// Adds to both; they must outlive this.
  CheckpointEvidence(Run& run, std::vector<Symptom>& symptoms) : run_(run), symptoms_(symptoms) {}

  /// The files of a checkpoint become sources of the run (those that it has already stay), and what
  /// the readers found in them symptoms.
  void files(const Checkpoint& checkpoint);
  void survey(const Checkpoint& checkpoint, const Survey& seen);
  void precision(const Checkpoint& checkpoint, const Precision& predicted);
  /// `precision` of the earlier or later checkpoint, where there is one, tells intent from loss: a
  /// frozen tensor that the optimizer holds was meant to train.
  void diff(const Checkpoint& before, const Checkpoint& after, const CheckpointDiff& diff);
  void resume(const Checkpoint& checkpoint, const ResumeAudit& audit);

 private:
  void notes(const Checkpoint& checkpoint, const std::vector<WeightNote>& all);
  SourceId source_of(const std::string& path);
  Origin origin_of(const Checkpoint& checkpoint, const Tensor& tensor);
  /// Notes a tensor in words; the first few of a symptom become its evidence.
  void show(Symptom& symptom, const Checkpoint& checkpoint, const Tensor& tensor,
            const std::string& text);
  void fact(const char* name, Value value, std::string because);
  Symptom start(const Checkpoint& checkpoint, std::string id, Severity severity) const;

  Run& run_;
  std::vector<Symptom>& symptoms_;
};

/// Looks into the newest checkpoints of a run that was collected: at most the last two, and at most
/// k_most_bytes of tensors; larger ones get a note that names `aplomb ckpt`.
constexpr std::uint64_t k_most_checkpoint_bytes = 2ULL << 30U;
void add_checkpoint_evidence(Run& run, std::vector<Symptom>& symptoms);

}  // namespace aplomb
