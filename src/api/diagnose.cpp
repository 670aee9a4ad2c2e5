#include <aplomb/diagnose.h>

#include "detectors/detector.h"
#include "report/build.h"
#include "sources/collect.h"

namespace aplomb {

Report diagnose(const std::vector<std::string>& paths, const DiagnoseOptions& options) {
  std::vector<DiagnosedRun> diagnosed;
  for (Run& run : collect(paths, {options.progress})) {
    std::vector<Symptom> symptoms = detect(run);
    Diagnosis diagnosis = diagnose_run(run, symptoms);
    diagnosed.push_back({std::move(run), std::move(symptoms), std::move(diagnosis)});
  }
  return build_report(diagnosed, options.most_causes);
}

}  // namespace aplomb
