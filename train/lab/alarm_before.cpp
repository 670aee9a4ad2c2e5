/// What `aplomb check` says of a user's files before the run.

#include <aplomb/check.h>

#include <algorithm>
#include <filesystem>

#include "train/lab/alarm.h"

namespace aplomb::train::lab {
namespace {

core::Severity severity_of(const std::string& word) {
  for (const core::Severity each :
       {core::Severity::warning, core::Severity::unstable, core::Severity::failed}) {
    if (word == name(each)) return each;
  }
  return core::Severity::note;
}

/// Findings of at least `warning`, worst first.
std::vector<ReportFinding> warnings_of(const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return {};
  std::vector<ReportFinding> findings = check({folder}, {}).findings;
  std::erase_if(findings, [](const ReportFinding& each) {
    return severity_of(each.severity) < core::Severity::warning;
  });
  return findings;
}

bool leads_to_one(const ReportFinding& finding, const std::vector<std::string>& causes) {
  return std::any_of(finding.leads_to.begin(), finding.leads_to.end(), [&](const auto& each) {
    return std::find(causes.begin(), causes.end(), each) != causes.end();
  });
}

Alarm alarm_of(const ReportFinding& finding) {
  return {0, severity_of(finding.severity), finding.id};
}

}  // namespace

std::optional<Alarm> alarm_before(const std::string& folder, const std::string& twin_folder,
                                  const std::vector<std::string>& causes) {
  std::vector<ReportFinding> findings = warnings_of(folder);
  std::erase_if(findings, [&](const ReportFinding& each) { return !leads_to_one(each, causes); });
  if (findings.empty()) return std::nullopt;
  const std::vector<ReportFinding> usual = warnings_of(twin_folder);
  for (const ReportFinding& each : findings) {
    const bool healthy_too = std::any_of(usual.begin(), usual.end(), [&](const auto& other) {
      return other.id == each.id && other.severity == each.severity;
    });
    if (!healthy_too) return alarm_of(each);
  }
  return std::nullopt;
}

std::optional<Alarm> any_alarm_before(const std::string& folder) {
  const std::vector<ReportFinding> findings = warnings_of(folder);
  return findings.empty() ? std::nullopt : std::optional(alarm_of(findings.front()));
}

}  // namespace aplomb::train::lab
