#pragma once
/// Runs, symptoms and diagnoses -> the Report of include/aplomb/report.h.

#include <aplomb/report.h>

#include <vector>

#include "detectors/symptom.h"
#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb {

struct DiagnosedRun {
  Run run;
  std::vector<Symptom> symptoms;
  Diagnosis diagnosis;
};

/// Several runs become one report: the worst run leads, the others are named in `summary` and their symptoms carry
/// the run's name. Evidence lines are read back from the artifacts (at most a few hundred bytes each).
Report build_report(const std::vector<DiagnosedRun>& runs, std::size_t most_causes);

}  // namespace aplomb
