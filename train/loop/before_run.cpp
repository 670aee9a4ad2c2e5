#include "train/loop/before_run.h"

#include <fmt/format.h>

#include "core/text.h"
#include "plan/plan.h"
#include "preflight/judge.h"

namespace aplomb::train::loop {
namespace {

std::string told(const preflight::Finding& finding) {
  std::string text = fmt::format("check: {} ({}): {}", finding.title, finding.id, finding.because);
  if (!finding.remedies.empty() && !finding.remedies.front().text.empty())
    text += " Remedy: " + finding.remedies.front().text;
  return text;
}

void add_plan(const std::vector<record::Setting>& settings, double free_bytes, Forecast& forecast) {
  const auto plan = plan::make_plan(plan::Known(settings), "aplomb-train", {});
  if (!plan) {
    forecast.said.push_back({core::Severity::note, "plan: " + plan.error().text});
    return;
  }
  forecast.needed_bytes = plan->needed_bytes;
  forecast.fits = free_bytes <= 0 || plan->needed_bytes <= free_bytes;
  std::string text = fmt::format("plan: {:.3g} M parameters, {:.3g} M train; memory {}",
                                 plan->step.parameters / 1e6, plan->step.trained / 1e6,
                                 core::show_bytes(plan->needed_bytes));
  if (free_bytes > 0) {
    text +=
        fmt::format(" of {} free{}", core::show_bytes(free_bytes),
                    forecast.fits ? "" : ": it does not fit; `aplomb plan --fit` says what helps");
  }
  forecast.said.push_back(
      {forecast.fits ? core::Severity::note : core::Severity::failed, std::move(text)});
}

}  // namespace

std::optional<double> flops_per_token(const std::vector<record::Setting>& settings) {
  const auto plan = plan::make_plan(plan::Known(settings), "aplomb-train", {});
  if (!plan || !(plan->step.model_flops > 0)) return std::nullopt;
  return plan->step.model_flops / plan->training.tokens();
}

Forecast judge_before(const std::vector<record::Setting>& settings, double free_bytes) {
  Forecast forecast;
  record::Run run;
  run.name = "this run";
  run.sources.push_back({"options", "options", 0, "aplomb-train"});
  run.settings = settings;
  for (const preflight::Finding& finding : preflight::judge_settings(run)) {
    if (finding.severity >= core::Severity::warning)
      forecast.said.push_back({finding.severity, told(finding)});
  }
  add_plan(settings, free_bytes, forecast);
  return forecast;
}

}  // namespace aplomb::train::loop
