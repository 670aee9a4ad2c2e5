#pragma once
/// Runs, symptoms and diagnoses -> the Report of include/aplomb/report.h.

#include <aplomb/report.h>

#include <functional>
#include <string>
#include <vector>

#include "detectors/symptom.h"
#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb::report {

struct DiagnosedRun {
  record::Run run;
  std::vector<detectors::Symptom> symptoms;
  diagnosis::Diagnosis diagnosis;
};

/// Gives the line of an artifact on which an Origin lies, as it stands there (at most some hundred
/// bytes); empty where it cannot be had: a binary format, a file that is gone, a place too deep in
/// a compressed one. Whoever knows how artifacts are opened passes it in (src/api): this layer does
/// not read files.
using LineReader = std::function<std::string(const record::Source&, const record::Origin&)>;

/// Several runs become one report: the worst run leads and the others are named in `runs`. At most
/// `most_causes` causes are listed. `seconds` of the summary is the caller's to
/// add.
Report build_report(const std::vector<DiagnosedRun>& runs, std::size_t most_causes,
                    const LineReader& line_at = {});

}  // namespace aplomb::report
