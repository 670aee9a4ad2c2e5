#include <aplomb/diagnose.h>

#include <chrono>
#include <cmath>

#include "api/artifact_lines.h"
#include "api/checkpoint_evidence.h"
#include "api/code_evidence.h"
#include "api/declared_text.h"
#include "api/flow.h"
#include "api/runs_beside.h"
#include "detection/detect.h"
#include "detectors/detector.h"
#include "discovery/collect.h"

namespace aplomb {

namespace api {

std::vector<report::DiagnosedRun> diagnose_runs(const std::vector<std::string>& paths,
                                                const DiagnoseOptions& options) {
  return judge_runs(discovery::collect(paths, {.progress = options.progress,
                                               .leaves_out = options.leaves_out,
                                               .follow_links = options.follow_links,
                                               .most_log_bytes = options.most_log_bytes}),
                    paths, options);
}

std::vector<report::DiagnosedRun> judge_runs(std::vector<record::Run> runs,
                                             const std::vector<std::string>& paths,
                                             const DiagnoseOptions& options, const Judging& how) {
  std::vector<report::DiagnosedRun> diagnosed;
  add_code_evidence(runs, options.python, how.audits);
  std::vector<std::vector<detectors::Symptom>> symptoms;
  for (record::Run& run : runs) {
    for (const DeclaredText& each : options.declared) take_declared(run, each);
    symptoms.push_back(how.so_far ? detection::detect_so_far(run) : detection::detect(run));
    if (how.opens_checkpoints) add_checkpoint_evidence(run, symptoms.back(), paths);
  }
  add_runs_beside(runs, symptoms);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    diagnosis::Diagnosis diagnosis = diagnosis::diagnose_run(runs[i], symptoms[i]);
    diagnosed.push_back({std::move(runs[i]), std::move(symptoms[i]), std::move(diagnosis)});
  }
  return diagnosed;
}

Report report_of(const std::vector<report::DiagnosedRun>& runs, const DiagnoseOptions& options) {
  ArtifactLines lines;
  return report::build_report(runs, options.most_causes,
                              [&lines](const record::Source& source, const record::Origin& origin) {
                                return lines.line_at(source, origin);
                              });
}

}  // namespace api

Report diagnose(const std::vector<std::string>& paths, const DiagnoseOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Report report = api::report_of(api::diagnose_runs(paths, options), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  report.summary["seconds"] = std::round(taken.count() * 1000) / 1000;
  return report;
}

}  // namespace aplomb
