#pragma once
/// The report in two sentences: what went wrong and what to do first.

#include <aplomb/report.h>

#include <vector>

#include "report/build.h"

namespace aplomb::report {

ReportRun report_run(const DiagnosedRun& run, Verdict verdict);

/// Fills `summary` from the runs (worst first) and from what stands in the report already.
void add_summary(const std::vector<const DiagnosedRun*>& runs, Report& report);

}  // namespace aplomb::report
