#include "report/summary.h"

#include <algorithm>

#include "core/text.h"
#include "knowledge/trainer.h"
#include "report/evidence.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

std::int64_t last_step_of(const record::Run& run) {
  std::int64_t last = 0;
  for (const record::Series& series : run.series) {
    for (const std::int64_t step : series.step) last = std::max(last, step);
  }
  return last;
}

bool has(const record::Run& run, record::Role role) { return run.primary(role) != nullptr; }

std::string what_is_healthy(const DiagnosedRun& run) {
  for (const detectors::Symptom& symptom : run.symptoms) {
    if (symptom.id == "run.healthy") return tidy_line(symptom.summary, 300);
  }
  return {};
}

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  });
}

/// What was seen, without a word about why: the worst symptom, or the worst event where that is
/// worse; of a healthy run what makes it so.
std::string seen_of(const DiagnosedRun& run) {
  if (run.diagnosis.standing == diagnosis::Standing::healthy) return what_is_healthy(run);
  const detectors::Symptom* symptom = nullptr;
  for (const detectors::Symptom& each : run.symptoms) {
    if (symptom == nullptr || each.severity > symptom->severity) symptom = &each;
  }
  const record::Event* event = nullptr;
  for (const record::Event& each : run.run.events) {
    if (!has_letters(each.text)) continue;  // the end of a quotation: `...`
    if (event == nullptr || each.severity > event->severity) event = &each;
  }
  const core::Severity by_symptom = symptom == nullptr ? core::Severity::note : symptom->severity;
  const core::Severity by_event = event == nullptr ? core::Severity::note : event->severity;
  if (by_event > by_symptom) return tidy_line(event->text, 160);
  return by_symptom > core::Severity::note ? tidy_line(symptom->summary, 300) : std::string();
}

std::string headline_of(const DiagnosedRun& run) {
  if (!run.diagnosis.headline.empty()) return core::sanitize(run.diagnosis.headline);
  if (run.diagnosis.standing == diagnosis::Standing::healthy) {
    return "nothing is wrong with this run";
  }
  for (const detectors::Symptom& symptom : run.symptoms) {
    if (symptom.severity != core::Severity::note) return core::sanitize(symptom.summary);
  }
  if (!run.diagnosis.causes.empty()) return run.diagnosis.causes.front().title;
  return "not enough evidence to say what went wrong";
}

/// What a user most often has beside what was given, dearest to the diagnosis first: at most two
/// things.
std::string ask_for_more(const record::Run* run) {
  std::vector<std::string> wanted;
  if (run == nullptr || run->series.empty()) {
    wanted.emplace_back(run == nullptr || run->events.empty()
                            ? "the training log (all that the trainer printed) or "
                              "trainer_state.json"
                            : "the log from its first line up to the error");
  } else if (!has(*run, record::Role::loss)) {
    wanted.emplace_back("a log that holds the training loss, step by step");
  }
  const bool configured = run != nullptr && (run->setting("optim.lr") != nullptr ||
                                             run->setting("batch.micro") != nullptr ||
                                             run->setting("precision.compute") != nullptr);
  if (!configured) wanted.emplace_back("the configuration or the command line of the run");
  if (run != nullptr && !run->series.empty() && !has(*run, record::Role::grad_norm))
    wanted.emplace_back("the gradient norm, logged at every step");
  if (wanted.empty()) wanted.emplace_back("more steps, each of them logged (logging_steps 1)");
  return wanted[0] + (wanted.size() > 1 ? "; and " + wanted[1] : "");
}

std::string first_action_of(const DiagnosedRun* lead, const Report& report) {
  if (report.verdict == Verdict::healthy) return "Go on: nothing needs to change.";
  if (needs_test(report)) {
    if (const ReportExperiment* test = telling_experiment(report)) return test->text;
  }
  const bool sure = report.verdict != Verdict::insufficient_evidence;
  if (sure && !report.causes.empty() && !report.causes.front().remedies.empty()) {
    return report.causes.front().remedies.front().text;
  }
  if (!report.experiments.empty()) return report.experiments.front().text;
  return "Give " + ask_for_more(lead == nullptr ? nullptr : &lead->run);
}

std::uint64_t samples_of(const record::Run& run) {
  std::uint64_t samples = 0;
  for (const record::Series& series : run.series) samples += series.count;
  return samples;
}

}  // namespace

ReportRun report_run(const DiagnosedRun& run, Verdict verdict) {
  ReportRun out;
  out.name = core::sanitize(run.run.name);
  out.verdict = verdict;
  out.headline = headline_of(run);
  if (!run.diagnosis.causes.empty()) out.cause = run.diagnosis.causes.front().id;
  out.steps = static_cast<std::uint64_t>(last_step_of(run.run));
  return out;
}

void add_summary(const std::vector<const DiagnosedRun*>& runs, Report& report) {
  auto& summary = report.summary;
  summary["runs"] = static_cast<double>(runs.size());
  const DiagnosedRun* lead = runs.empty() ? nullptr : runs.front();
  summary["headline"] = lead != nullptr ? headline_of(*lead) : std::string("nothing could be read");
  summary["first_action"] = first_action_of(lead, report);
  if (report.verdict == Verdict::insufficient_evidence) {
    const std::string bring = ask_for_more(lead == nullptr ? nullptr : &lead->run);
    if (!std::get<std::string>(summary["first_action"]).ends_with(bring)) summary["bring"] = bring;
  }
  if (lead == nullptr) return;
  if (std::string seen = seen_of(*lead); !seen.empty()) summary["seen"] = std::move(seen);
  if (!lead->diagnosis.in_order.empty())
    summary["in_order"] = core::sanitize(lead->diagnosis.in_order);
  summary["run"] = report.runs.front().name;
  if (const std::string framework = knowledge::trainer_of(lead->run); !framework.empty()) {
    summary["framework"] = framework;
  }
  if (!lead->run.series.empty()) {
    summary["steps"] = static_cast<double>(report.runs.front().steps);
  }
  summary["samples"] = static_cast<double>(samples_of(lead->run));
}

}  // namespace aplomb::report
