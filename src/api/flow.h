#pragma once
/// The flow in one place: paths -> Runs -> symptoms -> diagnoses. diagnose() makes a Report of it,
/// bundle() an archive.

#include <aplomb/diagnose.h>

#include <string>
#include <vector>

#include "report/build.h"

namespace aplomb::api {

std::vector<report::DiagnosedRun> diagnose_runs(const std::vector<std::string>& paths,
                                                const DiagnoseOptions& options);
/// The Report of them, with the evidence lines read back from the artifacts.
Report report_of(const std::vector<report::DiagnosedRun>& runs, const DiagnoseOptions& options);

}  // namespace aplomb::api
