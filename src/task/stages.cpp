#include "task/stages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/text.h"
#include "task/metric_words.h"

namespace aplomb::task {
namespace {

constexpr std::size_t k_least_samples = 12;
constexpr std::size_t k_most_changes = 6;
constexpr std::size_t k_least_stay = 4;  // records of one value: a stage, not a count

/// Numbers that count, or are the best so far: they stay and step up as stages do.
constexpr std::array<std::string_view, 22> k_counts = {
    "best", "epoch", "step", "patience", "bad",    "skipped", "nan",     "count",
    "n",    "num",   "rank", "restart",  "min",    "max",     "batches", "checkpoint",
    "ckpt", "iter",  "ep",   "total",    "errors", "elapsed"};

bool counts(const std::string& name) {
  for (const std::string& word : name_words(name)) {
    if (std::find(k_counts.begin(), k_counts.end(), word) != k_counts.end()) return true;
  }
  return false;
}

/// The samples after which the value is another; empty where the series is no sequence of stages.
std::vector<std::size_t> changes_of(const record::Series& series) {
  std::vector<std::size_t> changes;
  std::size_t stay = 1;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double value = series.value[i];
    if (!std::isfinite(value) || value != std::floor(value)) return {};
    if (i == 0) continue;
    if (series.segment[i] != series.segment[0]) return {};
    if (value == series.value[i - 1]) {
      ++stay;
      continue;
    }
    // A curriculum goes one way.
    const bool up = series.value[series.size() - 1] > series.value[0];
    if (stay < k_least_stay || (value > series.value[i - 1]) != up) return {};
    changes.push_back(i);
    stay = 1;
  }
  return changes.size() > k_most_changes ? std::vector<std::size_t>{} : changes;
}

void add_columns(const record::Run& run, std::vector<Stage>& stages) {
  for (const record::Series& series : run.series) {
    if (series.role != record::Role::other || series.size() < k_least_samples ||
        series.thinned > 1 || series.step_kind == record::StepKind::epoch ||
        counts(series.raw_name))
      continue;
    for (const std::size_t at : changes_of(series)) {
      stages.push_back({series.step[at - 1],
                        series.raw_name + " " + core::show_number(series.value[at - 1]) + " -> " +
                            core::show_number(series.value[at]),
                        series.origin(at)});
    }
  }
}

/// The step of the last loss before a place of its artifact; nothing where none stands there.
std::optional<std::int64_t> step_before(const record::Run& run, const record::Origin& origin) {
  const record::Series* loss = run.primary(record::Role::loss);
  if (loss == nullptr || loss->source != origin.source) return std::nullopt;
  const auto next = std::upper_bound(loss->offset.begin(), loss->offset.end(), origin.offset);
  if (next == loss->offset.begin()) return std::nullopt;
  return loss->step[static_cast<std::size_t>(next - loss->offset.begin()) - 1];
}

void add_lines(const record::Run& run, std::vector<Stage>& stages) {
  for (const record::Event& event : run.events) {
    if (event.kind != "stage-begins") continue;
    const std::optional<std::int64_t> step =
        event.step ? event.step : step_before(run, event.origin);
    // What stands before the first record begins the run and no further stage.
    if (step) stages.push_back({*step, core::shorten(core::trim(event.text), 80), event.origin});
  }
}

/// In the order of their lines; counts of steps may begin anew with a stage.
bool comes_before(const Stage& a, const Stage& b) {
  const bool lines =
      a.origin.source == b.origin.source && a.origin.offset > 0 && b.origin.offset > 0;
  return lines ? a.origin.offset < b.origin.offset : a.step < b.step;
}

}  // namespace

std::vector<Stage> stages_of(const record::Run& run) {
  std::vector<Stage> stages;
  add_lines(run, stages);
  add_columns(run, stages);
  std::stable_sort(stages.begin(), stages.end(), comes_before);
  const auto again = std::unique(stages.begin(), stages.end(),
                                 [](const Stage& a, const Stage& b) { return a.step == b.step; });
  stages.erase(again, stages.end());
  return stages;
}

}  // namespace aplomb::task
