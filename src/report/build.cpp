#include "report/build.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/memory_budget.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "report/chart_points.h"
#include "report/evidence.h"
#include "report/remedy_text.h"
#include "report/summary.h"

namespace aplomb::report {
namespace {

constexpr std::size_t k_most_charts = 64;  ///< further series keep their numbers, without a chart

Verdict verdict_of(diagnosis::Standing standing) {
  switch (standing) {
    case diagnosis::Standing::healthy:
      return Verdict::healthy;
    case diagnosis::Standing::warning:
      return Verdict::warning;
    case diagnosis::Standing::unstable:
      return Verdict::unstable;
    case diagnosis::Standing::failed:
      return Verdict::failed;
    case diagnosis::Standing::insufficient:
      break;
  }
  return Verdict::insufficient_evidence;
}

/// Which run leads: what failed before what is doubtful, and a run that could be judged healthy
/// before files that hold too little to judge.
int badness(diagnosis::Standing standing) {
  switch (standing) {
    case diagnosis::Standing::failed:
      return 4;
    case diagnosis::Standing::unstable:
      return 3;
    case diagnosis::Standing::warning:
      return 2;
    case diagnosis::Standing::healthy:
      return 1;
    case diagnosis::Standing::insufficient:
      break;
  }
  return 0;
}

std::uint64_t samples_of(const record::Run& run) {
  return std::accumulate(
      run.series.begin(), run.series.end(), std::uint64_t{0},
      [](std::uint64_t sum, const record::Series& each) { return sum + each.count; });
}

std::vector<const DiagnosedRun*> worst_first(const std::vector<DiagnosedRun>& runs) {
  std::vector<const DiagnosedRun*> order;
  order.reserve(runs.size());
  for (const DiagnosedRun& each : runs) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const DiagnosedRun* a, const DiagnosedRun* b) {
    const int worse = badness(a->diagnosis.standing) - badness(b->diagnosis.standing);
    if (worse != 0) return worse > 0;
    return samples_of(a->run) > samples_of(b->run);
  });
  return order;
}

std::string defect_line(const record::Defect& defect) {
  std::string line = tidy_line(defect.text.empty() ? defect.kind : defect.text, 300);
  if (defect.offset > 0) line += " (at byte " + std::to_string(defect.offset) + ")";
  if (defect.times > 1) line += " (" + std::to_string(defect.times) + " times)";
  return line;
}

void add_inputs(const record::Run& run, Report& report) {
  const std::size_t base = report.inputs.size();
  for (const record::Source& source : run.sources) {
    report.inputs.push_back({core::sanitize(source.path), source.kind, 0, {}});
  }
  for (const record::Series& series : run.series) {
    if (series.source >= run.sources.size()) continue;
    std::uint64_t& steps = report.inputs[base + series.source].steps;
    steps = std::max(steps, series.count);
  }
  for (const record::Defect& defect : run.defects) {
    if (defect.source >= run.sources.size()) continue;
    report.inputs[base + defect.source].warnings.push_back(defect_line(defect));
  }
}

/// Charts go to what a person looks at first: known roles before the rest.
int chart_rank(record::Role role) {
  switch (role) {
    case record::Role::loss:
      return 0;
    case record::Role::eval_loss:
      return 1;
    case record::Role::grad_norm:
      return 2;
    case record::Role::lr:
      return 3;
    case record::Role::reward:
      return 4;
    case record::Role::other:
      return 7;
    case record::Role::loss_component:
    case record::Role::eval_component:
    case record::Role::reward_component:
      return 6;
    default:
      return 5;
  }
}

ReportSeries report_series(const record::Series& series, const record::Run& run, bool with_chart) {
  ReportSeries out;
  out.name = core::sanitize(series.name);
  out.role = name(series.role);
  out.points = series.count;
  const auto [low, high] = std::minmax_element(series.step.begin(), series.step.end());
  out.first_step = *low;
  out.last_step = *high;
  out.min = series.min;
  out.max = series.max;
  out.first = series.value.front();
  out.last = series.value.back();
  out.nonfinite = series.nonfinite_count;
  if (series.source < run.sources.size())
    out.path = core::sanitize(run.sources[series.source].path);
  if (with_chart) out.chart = chart_points(series);
  return out;
}

void add_series(const record::Run& run, Report& report) {
  std::map<std::string_view, const record::Series*> by_name;
  for (const record::Series& series : run.series) {
    if (!series.empty()) by_name.emplace(series.name, nullptr);
  }
  std::vector<const record::Series*> chosen;
  for (auto& [series_name, best] : by_name) {
    for (const record::Series& series : run.series) {
      if (series.name != series_name || series.empty()) continue;
      if (best == nullptr || series.count > best->count) best = &series;
    }
    chosen.push_back(best);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const record::Series* a, const record::Series* b) {
                     return chart_rank(a->role) < chart_rank(b->role);
                   });
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    report.series.push_back(report_series(*chosen[i], run, i < k_most_charts));
  }
}

void add_symptoms(const DiagnosedRun& lead, const EvidenceFinder& finder, Report& report) {
  for (const detectors::Symptom& symptom : lead.symptoms) {
    report.symptoms.push_back({symptom.id, std::string(name(symptom.severity)), symptom.first_step,
                               symptom.last_step, core::sanitize(symptom.series),
                               core::sanitize(symptom.summary), finder.find(symptom.evidence)});
  }
}

ReportCause report_cause(const diagnosis::RankedCause& cause, const DiagnosedRun& lead,
                         const EvidenceFinder& finder) {
  ReportCause out;
  out.id = cause.id;
  out.family = cause.family;
  out.title = cause.title;
  out.probability = cause.probability;
  out.because = core::sanitize(cause.because);
  out.verify = core::sanitize(cause.verify);
  out.references = cause.references;
  // The strongest reasons' lines come first: they are what a reader should look at.
  std::vector<const diagnosis::WeighedReason*> reasons;
  for (const diagnosis::WeighedReason& reason : cause.reasons) reasons.push_back(&reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto* a, const auto* b) { return a->weight > b->weight; });
  std::vector<record::Origin> origins;
  for (const diagnosis::WeighedReason* reason : reasons) {
    out.weights.push_back({reason->when, reason->weight, core::sanitize(reason->because),
                           finder.find(reason->evidence)});
    if (reason->weight > 0) {
      origins.insert(origins.end(), reason->evidence.begin(), reason->evidence.end());
    }
  }
  out.evidence = finder.find(origins);
  for (const diagnosis::Remedy& remedy : cause.remedies) {
    ReportRemedy step;
    step.text = as_sentence(remedy.text);
    for (const auto& [setting, value] : remedy.set) step.set.emplace(setting, value);
    step.rendered = render_remedy(remedy, lead.run);
    out.remedies.push_back(std::move(step));
  }
  return out;
}

std::vector<ReportHealthFinding> health_findings(const std::vector<diagnosis::HealthFinding>& found,
                                                 const EvidenceFinder& finder) {
  std::vector<ReportHealthFinding> out;
  out.reserve(found.size());
  for (const diagnosis::HealthFinding& each : found)
    out.push_back({core::sanitize(each.because), finder.find(each.evidence)});
  return out;
}

void add_health(const diagnosis::HealthEvidence& health, const EvidenceFinder& finder,
                Report& report) {
  report.health = {health_findings(health.shown, finder), health_findings(health.against, finder),
                   health_findings(health.missing, finder)};
}

void add_settings(const record::Run& run, Report& report) {
  for (const record::Setting& setting : run.settings) {  // a later one of the same name wins
    core::Value value = setting.value;
    if (auto* text = std::get_if<std::string>(&value)) *text = tidy_line(*text, 400);
    report.settings[setting.name] = std::move(value);
  }
}

void add_lead(const DiagnosedRun& lead, std::size_t most_causes, const LineReader& line_at,
              Report& report) {
  const EvidenceFinder finder(lead.run, line_at);
  report.verdict = verdict_of(lead.diagnosis.standing);
  // What was left out for want of memory may be the run that failed.
  if (report.verdict == Verdict::healthy && core::memory_was_short())
    report.verdict = Verdict::insufficient_evidence;
  report.unknown_probability = lead.diagnosis.unknown_probability;
  add_series(lead.run, report);
  add_symptoms(lead, finder, report);
  for (const diagnosis::RankedCause& cause : lead.diagnosis.causes) {
    if (report.causes.size() >= most_causes) break;
    report.causes.push_back(report_cause(cause, lead, finder));
  }
  for (const diagnosis::RuledOut& each : lead.diagnosis.ruled_out) {
    report.ruled_out.push_back(
        {each.id, each.title, core::sanitize(each.because), finder.find(each.evidence)});
  }
  add_health(lead.diagnosis.health, finder, report);
  for (const diagnosis::Experiment& each : lead.diagnosis.experiments) {
    report.experiments.push_back(
        {core::sanitize(each.text), each.separates, core::sanitize(each.reads)});
  }
  add_settings(lead.run, report);
}

}  // namespace

Report build_report(const std::vector<DiagnosedRun>& runs, std::size_t most_causes,
                    const LineReader& line_at) {
  Report report;
  const std::vector<const DiagnosedRun*> order = worst_first(runs);
  for (const DiagnosedRun* each : order) {
    add_inputs(each->run, report);
    report.runs.push_back(report_run(*each, verdict_of(each->diagnosis.standing)));
  }
  if (!order.empty()) add_lead(*order.front(), most_causes, line_at, report);
  add_summary(order, report);
  return report;
}

}  // namespace aplomb::report

namespace aplomb {

std::string_view name(Verdict verdict) {
  static constexpr std::pair<Verdict, std::string_view> k_names[] = {
      {Verdict::healthy, "healthy"},
      {Verdict::warning, "warning"},
      {Verdict::unstable, "unstable"},
      {Verdict::failed, "failed"},
      {Verdict::insufficient_evidence, "insufficient-evidence"}};
  return core::second_of(k_names, verdict).value_or("insufficient-evidence");
}

}  // namespace aplomb
