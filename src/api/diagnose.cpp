#include <aplomb/diagnose.h>

#include <chrono>
#include <cmath>

#include "api/artifact_lines.h"
#include "api/checkpoint_evidence.h"
#include "api/flow.h"
#include "detectors/detector.h"
#include "sources/collect.h"

namespace aplomb {

std::vector<DiagnosedRun> diagnose_runs(const std::vector<std::string>& paths,
                                        const DiagnoseOptions& options) {
  std::vector<DiagnosedRun> diagnosed;
  for (Run& run : collect(paths, {options.progress})) {
    std::vector<Symptom> symptoms = detect(run);
    add_checkpoint_evidence(run, symptoms);
    Diagnosis diagnosis = diagnose_run(run, symptoms);
    diagnosed.push_back({std::move(run), std::move(symptoms), std::move(diagnosis)});
  }
  return diagnosed;
}

Report report_of(const std::vector<DiagnosedRun>& runs, const DiagnoseOptions& options) {
  ArtifactLines lines;
  return build_report(runs, options.most_causes,
                      [&lines](const Source& source, const Origin& origin) {
                        return lines.line_at(source, origin);
                      });
}

Report diagnose(const std::vector<std::string>& paths, const DiagnoseOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Report report = report_of(diagnose_runs(paths, options), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  report.summary["seconds"] = std::round(taken.count() * 1000) / 1000;
  return report;
}

}  // namespace aplomb
