#include "preflight/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/text.h"
#include "knowledge/code_book.h"
#include "knowledge/hardware.h"
#include "knowledge/trainer.h"
#include "report/evidence.h"
#include "report/remedy_text.h"

namespace aplomb::preflight {
namespace {

constexpr std::array<core::Severity, 4> k_severities = {
    core::Severity::failed, core::Severity::unstable, core::Severity::warning,
    core::Severity::note};

/// 3 for `failed`, 0 for `note`.
std::size_t rank_of(std::string_view severity) {
  for (std::size_t i = 0; i < k_severities.size(); ++i) {
    if (severity == name(k_severities[i])) return k_severities.size() - 1 - i;
  }
  return 0;
}

Verdict verdict_of(const std::vector<ReportFinding>& findings, bool anything) {
  std::size_t worst = 0;
  for (const ReportFinding& each : findings) worst = std::max(worst, rank_of(each.severity));
  if (worst == 3) return Verdict::failed;
  if (worst == 2) return Verdict::unstable;
  if (worst == 1) return Verdict::warning;
  return anything ? Verdict::healthy : Verdict::insufficient_evidence;
}

ReportFinding report_finding(const Finding& finding, const record::Run& run,
                             const report::EvidenceFinder& finder) {
  ReportFinding out;
  out.id = finding.id;
  out.severity = name(finding.severity);
  out.title = core::sanitize(finding.title);
  out.because = core::sanitize(finding.because);
  out.evidence = finder.find(finding.evidence);
  // What a default does stands nowhere: the finding belongs to the file that could say otherwise.
  if (out.evidence.empty() && !run.sources.empty())
    out.evidence.push_back({core::sanitize(run.sources.front().path), 0, std::nullopt, {}});
  for (const diagnosis::Remedy& remedy : finding.remedies) {
    ReportRemedy step;
    step.text = core::sanitize(remedy.text);
    for (const auto& [setting, value] : remedy.set) step.set.emplace(setting, value);
    step.rendered = report::render_remedy(remedy, run);
    out.remedies.push_back(std::move(step));
  }
  out.leads_to = finding.leads_to;
  out.references = finding.references;
  return out;
}

core::Severity worst_of(const CheckedRun& checked) {
  return checked.findings.empty() ? core::Severity::note : checked.findings.front().severity;
}

void add_inputs(const record::Run& run, Report& report) {
  const std::size_t base = report.inputs.size();
  for (const record::Source& source : run.sources)
    report.inputs.push_back({core::sanitize(source.path), source.kind, 0, {}});
  for (const record::Defect& defect : run.defects) {
    if (defect.source >= run.sources.size()) continue;
    const std::string text = defect.text.empty() ? defect.kind : defect.text;
    report.inputs[base + defect.source].warnings.push_back(report::tidy_line(text, 300));
  }
}

/// `2 failures, 1 warning`
std::string counted(const std::vector<ReportFinding>& findings) {
  struct Word {
    std::string_view severity, one, many;
  };
  static constexpr std::array<Word, 3> k_words = {{{"failed", "failure", "failures"},
                                                   {"unstable", "instability", "instabilities"},
                                                   {"warning", "warning", "warnings"}}};
  std::string out;
  for (const Word& word : k_words) {
    const auto count =
        std::count_if(findings.begin(), findings.end(),
                      [&](const ReportFinding& each) { return each.severity == word.severity; });
    if (count == 0) continue;
    out +=
        fmt::format("{}{} {}", out.empty() ? "" : ", ", count, count == 1 ? word.one : word.many);
  }
  return out;
}

void add_summary(const CheckedRun* lead, bool anything, Report& report) {
  auto& summary = report.summary;
  const std::string count = counted(report.findings);
  const auto first = std::find_if(
      report.findings.begin(), report.findings.end(),
      [](const ReportFinding& each) { return each.severity != "note" && !each.remedies.empty(); });
  summary["findings"] = static_cast<double>(report.findings.size());
  summary["headline"] = !count.empty() ? count + " to look at before this starts"
                        : anything     ? std::string("nothing found against starting this")
                                       : std::string("no configuration, data or program was read");
  if (!count.empty()) summary["told"] = report.findings.front().title;
  summary["first_action"] = first != report.findings.end() ? first->remedies.front().text
                            : anything ? std::string("Start it; watch the first ten steps.")
                                       : std::string("Give the configuration that starts the run.");
  if (lead == nullptr) return;
  summary["run"] = core::sanitize(lead->run.name);
  if (const std::string framework = knowledge::trainer_of(lead->run); !framework.empty())
    summary["framework"] = framework;
  if (const record::Setting* card = lead->run.setting("env.gpu"); card != nullptr)
    summary["card"] = core::sanitize(core::show(card->value));
}

/// The compute capability of the card that the runs are for; nothing where it is not known.
std::optional<double> capability_of(const std::vector<CheckedRun>& runs, const std::string& card) {
  for (const CheckedRun& each : runs) {
    for (const record::Fact& fact : each.run.facts) {
      const double* number = core::as_number(fact.value);
      if (fact.name == "hardware.compute_capability" && number != nullptr) return *number;
    }
  }
  const auto seen = knowledge::find_named_gpu(card);
  if (!seen || seen->card->compute_capability <= 0) return std::nullopt;
  return seen->card->compute_capability;
}

/// Findings about programs beside what settings and card say: what a rule of the settings tells as
/// well is told once, and what only newer (or only older) cards have is told of those alone; where the card is known
/// to be one, it is more than a note.
void fit_to_runs(const std::vector<CheckedRun>& runs, const std::string& card,
                 std::vector<ReportFinding>& findings) {
  const std::optional<double> capability = capability_of(runs, card);
  const auto told = [&](const std::string& id) {
    return std::any_of(runs.begin(), runs.end(), [&](const CheckedRun& run) {
      return std::any_of(run.findings.begin(), run.findings.end(),
                         [&](const Finding& each) { return each.id == id; });
    });
  };
  std::erase_if(findings, [&](ReportFinding& each) {
    const knowledge::CodeEntry* entry = knowledge::code_book().find(each.id);
    if (entry == nullptr) return false;
    if (!entry->same_as.empty() && told(entry->same_as)) return true;
    if (entry->before_capability > 0)
      return !(capability && *capability < entry->before_capability);
    if (entry->from_capability == 0 || !capability) return false;
    if (*capability >= entry->from_capability && each.severity == name(core::Severity::note))
      each.severity = name(core::Severity::warning);
    return *capability < entry->from_capability;
  });
}

}  // namespace

Report check_report(const std::vector<CheckedRun>& runs, OtherFindings others, bool read_others,
                    const report::LineReader& line_at) {
  Report report;
  const CheckedRun* lead = nullptr;
  bool anything = read_others;
  fit_to_runs(runs, others.card, others.mistakes);
  fit_to_runs(runs, others.card, others.rest);
  report.findings = std::move(others.mistakes);
  for (const CheckedRun& each : runs) {
    add_inputs(each.run, report);
    anything = anything || !each.run.settings.empty();
    if (lead == nullptr || worst_of(each) > worst_of(*lead)) lead = &each;
    const report::EvidenceFinder finder(each.run, line_at);
    for (const Finding& finding : each.findings)
      report.findings.push_back(report_finding(finding, each.run, finder));
  }
  std::move(others.rest.begin(), others.rest.end(), std::back_inserter(report.findings));
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const ReportFinding& a, const ReportFinding& b) {
                     return rank_of(a.severity) > rank_of(b.severity);
                   });
  report.verdict = verdict_of(report.findings, anything);
  if (lead != nullptr) {
    for (const record::Setting& setting : lead->run.settings) {
      core::Value value = setting.value;
      if (auto* text = std::get_if<std::string>(&value)) *text = report::tidy_line(*text, 400);
      report.settings[setting.name] = std::move(value);
    }
  }
  add_summary(lead, anything, report);
  return report;
}

}  // namespace aplomb::preflight
