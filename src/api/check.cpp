#include <aplomb/check.h>

#include "api/artifact_lines.h"
#include "api/check_runs.h"
#include "preflight/check_report.h"
#include "preflight/judge.h"

namespace aplomb {

Report check(const std::vector<std::string>& paths, const CheckOptions& options) {
  std::vector<CheckedRun> runs;
  for (Run& run : configured_runs(paths, options)) {
    std::vector<Finding> findings = judge_settings(run);
    runs.push_back({std::move(run), std::move(findings)});
  }
  ArtifactLines lines;
  return check_report(runs, {}, [&lines](const Source& source, const Origin& origin) {
    return lines.line_at(source, origin);
  });
}

Report fixable(const Report& report) {
  Report out = report;
  ReportRemedy all;
  for (const ReportFinding& each : report.findings) {
    if (each.severity == "note" || each.remedies.empty()) continue;
    const ReportRemedy& first = each.remedies.front();
    for (const auto& [setting, value] : first.set) all.set.emplace(setting, value);
    if (!first.set.empty()) all.text += (all.text.empty() ? "" : " ") + first.text;
  }
  ReportCause cause;
  cause.id = "check";
  cause.probability = 1;
  cause.remedies.push_back(std::move(all));
  out.causes = {std::move(cause)};
  return out;
}

}  // namespace aplomb
