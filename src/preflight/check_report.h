#pragma once
/// Findings -> the Report of include/aplomb/report.h.

#include <aplomb/report.h>

#include <string>
#include <vector>

#include "preflight/judge.h"
#include "report/build.h"

namespace aplomb::preflight {

struct CheckedRun {
  record::Run run;
  std::vector<Finding> findings;
};

/// What is told beside the settings.
struct OtherFindings {
  std::vector<ReportFinding> mistakes;  ///< of programs, sure: before what is as severe
  std::vector<ReportFinding> rest;      ///< of data, and suspicions about programs
  std::string card;                     ///< that all of this is for, where no run says it
};

/// The findings of all runs, and the others, most severe first. The run with the worst finding
/// leads: its settings and framework are the report's.
/// `read_others`: data or programs were looked at, whatever was found in them.
Report check_report(const std::vector<CheckedRun>& runs, OtherFindings others, bool read_others,
                    const report::LineReader& line_at = {});

}  // namespace aplomb::preflight
