#pragma once
/// The flow in one place: paths -> Runs -> symptoms -> diagnoses. diagnose() makes a Report of it,
/// bundle() an archive.

#include <aplomb/diagnose.h>

#include <string>
#include <vector>

#include "api/code_evidence.h"
#include "report/build.h"

namespace aplomb::api {

/// How runs that were read elsewhere are judged.
struct Judging {
  bool so_far = false;  ///< they go on: only what the detectors are sure of already
  bool opens_checkpoints = true;
  AuditMemory* audits = nullptr;  ///< of those who judge the same run again and again
};

std::vector<report::DiagnosedRun> diagnose_runs(const std::vector<std::string>& paths,
                                                const DiagnoseOptions& options);
/// The same of Runs that were collected already; `paths` are those that were asked for.
std::vector<report::DiagnosedRun> judge_runs(std::vector<record::Run> runs,
                                             const std::vector<std::string>& paths,
                                             const DiagnoseOptions& options,
                                             const Judging& how = {});
/// The Report of them, with the evidence lines read back from the artifacts.
Report report_of(const std::vector<report::DiagnosedRun>& runs, const DiagnoseOptions& options);

}  // namespace aplomb::api
