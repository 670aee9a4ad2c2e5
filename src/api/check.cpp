#include <aplomb/check.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "api/artifact_lines.h"
#include "api/check_runs.h"
#include "preflight/check_report.h"
#include "preflight/code_audit.h"
#include "preflight/data_check.h"
#include "preflight/judge.h"

namespace aplomb {
namespace {

/// What of the configuration the data is held against: the first run's that says it.
double setting_of(const std::vector<record::Run>& runs, std::string_view name) {
  for (const record::Run& each : runs) {
    const record::Setting* setting = each.setting(name);
    const double* value = setting == nullptr ? nullptr : core::as_number(setting->value);
    if (value != nullptr && *value > 0) return *value;
  }
  return 0;
}

preflight::DataCheck data_of(const std::vector<std::string>& paths,
                             const std::vector<record::Run>& runs, const CheckOptions& options) {
  const double micro = setting_of(runs, "batch.micro");
  std::uint64_t all = 0;
  for (const std::string& path : paths) {
    std::error_code no_throw;
    all += std::filesystem::file_size(path, no_throw);
  }
  preflight::DataOptions how;
  how.limits = {setting_of(runs, "model.vocab_size"), setting_of(runs, "data.max_length"),
                setting_of(runs, "data.class_count")};
  if (micro >= 1) how.micro = static_cast<std::uint64_t>(micro);
  how.python = options.python;
  how.progress = [&](std::uint64_t done) {
    if (options.progress) options.progress(done, all);
  };
  return preflight::check_data(paths, how);
}

/// The rows that were read are the run's samples, where its configuration does not say how many.
void count_samples(std::uint64_t rows, record::Run& run) {
  if (rows == 0 || run.setting("data.samples") != nullptr) return;
  const auto nowhere = static_cast<record::SourceId>(run.sources.size());
  run.settings.push_back(
      {"data.samples", static_cast<double>(rows), "rows of the data", {}, {nowhere, 0, 0}});
}

/// Whether there is a data set or a program about which something can be said.
bool anything_read(const api::CheckInputs& inputs, const preflight::DataCheck& data,
                   const preflight::CodeAudit& audit) {
  return audit.troubles.size() < inputs.programs.size() ||
         std::any_of(
             data.inputs.begin(), data.inputs.end(),
             [](const ReportInput& input) { return input.steps > 0 || input.warnings.empty(); });
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
  api::CheckInputs inputs = api::sort_inputs(paths);
  std::vector<record::Run> configured = api::configured_runs(inputs, options);
  preflight::DataCheck data = data_of(inputs.data, configured, options);
  std::vector<preflight::CheckedRun> runs;
  for (record::Run& run : configured) {
    count_samples(data.training_rows, run);
    std::vector<preflight::Finding> findings = preflight::judge_settings(run);
    runs.push_back({std::move(run), std::move(findings)});
  }
  const preflight::CodeAudit audit =
      preflight::audit_programs(inputs.programs, {options.python, preflight::AuditOptions().limit});
  preflight::OtherFindings others;
  others.rest = std::move(data.findings);
  others.card = options.gpu.empty() ? options.local_gpu : options.gpu;
  for (const preflight::CodeFinding& each : audit.findings)
    (each.is_mistake ? others.mistakes : others.rest).push_back(preflight::report_of(each));
  api::ArtifactLines lines;
  Report report =
      preflight::check_report(runs, std::move(others), anything_read(inputs, data, audit),
                              [&lines](const record::Source& source, const record::Origin& origin) {
                                return lines.line_at(source, origin);
                              });
  for (ReportInput& input : data.inputs) report.inputs.push_back(std::move(input));
  for (const std::string& path : inputs.programs) input_of(report, path, "python-program");
  for (const preflight::CodeAudit::Trouble& each : audit.troubles)
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
