#include "api/checkpoint_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/checkpoint_evidence.h"
#include "checkpoint/folder_audit.h"
#include "discovery/file_search.h"
#include "report/build.h"

namespace aplomb::api {
namespace {

diagnosis::Standing standing_of(const std::vector<detectors::Symptom>& symptoms) {
  core::Severity worst = core::Severity::note;
  for (const detectors::Symptom& symptom : symptoms) worst = std::max(worst, symptom.severity);
  switch (worst) {
    case core::Severity::note:
      return diagnosis::Standing::healthy;
    case core::Severity::warning:
      return diagnosis::Standing::warning;
    case core::Severity::unstable:
      return diagnosis::Standing::unstable;
    case core::Severity::failed:
      break;
  }
  return diagnosis::Standing::failed;
}

bool worse(const detectors::Symptom& a, const detectors::Symptom& b) {
  return a.severity > b.severity;
}

}  // namespace

Report report_checkpoint(const CheckpointFindings& findings, std::size_t most_causes) {
  report::DiagnosedRun diagnosed;
  diagnosed.run.name = findings.checkpoint->path;
  CheckpointEvidence evidence(diagnosed.run, diagnosed.symptoms);
  if (findings.before != nullptr) evidence.files(*findings.before);
  evidence.files(*findings.checkpoint);
  if (findings.survey != nullptr) evidence.survey(*findings.checkpoint, *findings.survey);
  if (findings.diff != nullptr) {
    evidence.diff(*findings.before, *findings.checkpoint, *findings.diff);
  }
  if (findings.precision != nullptr) evidence.precision(*findings.checkpoint, *findings.precision);
  if (findings.parameters != nullptr) evidence.unheld(*findings.checkpoint, *findings.parameters);
  if (findings.resume != nullptr) evidence.resume(*findings.checkpoint, *findings.resume);
  if (findings.before != nullptr) evidence.changes(*findings.before);
  evidence.changes(*findings.checkpoint);
  std::stable_sort(diagnosed.symptoms.begin(), diagnosed.symptoms.end(), worse);
  diagnosed.diagnosis = diagnosis::diagnose_run(diagnosed.run, diagnosed.symptoms);
  // A checkpoint is judged by what is in it: there are no metrics that could be too few.
  diagnosed.diagnosis.standing = standing_of(diagnosed.symptoms);
  if (diagnosed.diagnosis.standing == diagnosis::Standing::healthy) {
    diagnosed.diagnosis.causes.clear();
    diagnosed.diagnosis.headline = "Nothing wrong found in the checkpoint.";
  } else if (diagnosed.diagnosis.causes.empty()) {
    diagnosed.diagnosis.headline = diagnosed.symptoms.front().summary + ".";
  }
  std::vector<report::DiagnosedRun> runs;
  runs.push_back(std::move(diagnosed));
  return report::build_report(runs, most_causes);
}

core::Result<checkpoint::Checkpoint> open_newest_checkpoint(const std::string& path, bool verify) {
  namespace fs = std::filesystem;
  std::error_code why;
  if (!fs::is_directory(path, why) || checkpoint::is_checkpoint_path(path))
    return checkpoint::open_checkpoint(path, verify);
  std::vector<std::string> inside;
  for (fs::directory_iterator at(path, why), end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (at->is_directory(none) && checkpoint::is_checkpoint_path(at->path().string())) {
      inside.push_back(at->path().string());
    }
  }
  if (inside.empty()) return checkpoint::open_checkpoint(path, verify);
  const std::string newest =
      *std::max_element(inside.begin(), inside.end(), discovery::natural_less);
  auto opened = checkpoint::open_checkpoint(newest, verify);
  // What lies beside the newest checkpoint is not read, but it may be loaded.
  if (opened) checkpoint::audit_folder(path, newest, opened->findings);
  return opened;
}

}  // namespace aplomb::api
