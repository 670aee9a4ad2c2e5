#pragma once
/// Views of a Plan: the terminal's, JSON (schema `aplomb.plan/1`) and a page of its own.

#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/renderer.h"

namespace aplomb::report {

struct PlanView {
  plan::Plan plan;
  std::vector<plan::Rung> ladder;
  bool asked_for_ladder = false;
  double price_per_gpu_hour = 0;
  std::string framework;  ///< in whose keys a rung is told; empty: in words
};

std::string plan_text(const PlanView& view, const RenderOptions& options);
std::string plan_json(const PlanView& view);
std::string plan_html(const PlanView& view);

/// Bytes that are no tensors of the step, as rows beside plan::Part's: what both views list.
struct PlanRow {
  std::string name;
  std::string meaning;
  double bytes = 0;
  std::string detail;  ///< `3.09e9 parameters of 2 bytes`; may be empty
};

/// What a rung sets, a line each: in the keys of the framework that the run is of, else in words.
std::string rung_settings(const PlanView& view, const plan::Rung& rung);

/// The rows of the bar, in its order, empty ones left out: parts at the peak, context, margin.
std::vector<PlanRow> plan_rows(const plan::Plan& plan);

/// `8.03 B`, `151 M`
std::string show_count(double count);

}  // namespace aplomb::report
