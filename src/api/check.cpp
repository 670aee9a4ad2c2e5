#include <aplomb/check.h>

#include <algorithm>
#include <filesystem>

#include "api/artifact_lines.h"
#include "api/check_runs.h"
#include "preflight/check_report.h"
#include "preflight/code_audit.h"
#include "preflight/judge.h"
#include "sources/file_search.h"

namespace aplomb {
namespace {

constexpr std::size_t k_most_programs = 2000;  ///< below one folder

bool is_program(const std::string& path) { return path.ends_with(".py"); }

std::vector<std::string> programs_in(const std::vector<std::string>& paths) {
  std::vector<std::string> programs;
  for (const std::string& path : paths) {
    std::error_code no_throw;
    if (!std::filesystem::is_directory(path, no_throw)) {
      if (is_program(path)) programs.push_back(path);
      continue;
    }
    for (const FoundFile& file : search_folder(path, 10 * k_most_programs).files) {
      if (is_program(file.path) && programs.size() < k_most_programs) programs.push_back(file.path);
    }
  }
  return programs;
}

/// A program that is no configuration as well becomes an input of its own.
ReportInput& input_of(Report& report, const std::string& path, const char* kind) {
  const auto known = std::find_if(report.inputs.begin(), report.inputs.end(),
                                  [&](const ReportInput& input) { return input.path == path; });
  if (known == report.inputs.end())
    return report.inputs.emplace_back(ReportInput{path, kind, 0, {}});
  if (known->kind == "unknown") {
    known->kind = kind;
    known->warnings.clear();  // that it is of no kind
  }
  return *known;
}

}  // namespace

Report check(const std::vector<std::string>& paths, const CheckOptions& options) {
  std::vector<CheckedRun> runs;
  for (Run& run : configured_runs(paths, options)) {
    std::vector<Finding> findings = judge_settings(run);
    runs.push_back({std::move(run), std::move(findings)});
  }
  const std::vector<std::string> programs = programs_in(paths);
  CodeAudit audit = audit_programs(programs, options.python);
  ArtifactLines lines;
  Report report = check_report(runs, std::move(audit.findings), !programs.empty(),
                               [&lines](const Source& source, const Origin& origin) {
                                 return lines.line_at(source, origin);
                               });
  for (const std::string& path : programs) input_of(report, path, "python-program");
  for (const CodeAudit::Trouble& each : audit.troubles)
    input_of(report, each.path, "python-program").warnings.push_back(each.text);
  return report;
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
