/// What the program prints of a solution without training, against where the run ends.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "record/score_course.h"
#include "task/metric_words.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;
using record::Role;

// Judgement: a mean of the same data differs by less, a model that learnt anything by more.
constexpr std::size_t k_least = 5;  // records of a metric
constexpr double k_same = 0.02;     // of the baseline
constexpr double k_short = 0.1;     // of the baseline, on its wrong side

double final_level(const record::Series& series) {
  const std::size_t n = series.size();
  std::array<double, 3> last{series.value[n - 3], series.value[n - 2], series.value[n - 1]};
  std::sort(last.begin(), last.end());
  return last[1];
}

/// 1: more is better, -1: less is; 0 where the name says neither.
int direction(const record::Series& series) {
  if (series.role == Role::reward || series.role == Role::accuracy ||
      series.role == Role::eval_accuracy)
    return 1;
  if (series.role == Role::loss || series.role == Role::eval_loss) return -1;
  std::string words_of_name;  // `val_auc` -> val auc
  for (const std::string& word : task::name_words(series.raw_name)) words_of_name += word + " ";
  const record::FoundScore score = record::first_score_name(words_of_name);
  if (score.name != nullptr) return score.name->more_is_better ? 1 : -1;
  const task::MetricWords words = task::metric_words(series.raw_name);
  if (words.role == Role::reward) return 1;
  return words.role == Role::loss && words.formula != "dice" ? -1 : 0;
}

/// The series of the baseline's own measure, held-out data first; else nothing.
const record::Series* series_named(const FactView& view, const std::string& name) {
  const record::Series* found = nullptr;
  for (const record::Series& series : view.all_series()) {
    const std::string raw = core::lower(series.raw_name);
    if (series.size() < k_least || !raw.ends_with(name)) continue;
    const std::size_t before = raw.size() - name.size();
    if (before > 0 && raw[before - 1] != '_' && raw[before - 1] != '/' && raw[before - 1] != ' ')
      continue;
    const bool held_out = task::metric_words(series.raw_name).held_out;
    if (found == nullptr || held_out) found = &series;
  }
  return found;
}

void derive_baseline(FactView& view) {
  const record::Series* held_out = view.series(Role::eval_loss);
  for (const record::Event* event : view.events("baseline-printed")) {
    const auto value = event->caught.find("value");
    const auto name = event->caught.find("name_text");
    if (value == event->caught.end() || name == event->caught.end()) continue;
    const double* number = core::as_number(value->second);
    const std::string* word = core::as_text(name->second);
    if (number == nullptr || word == nullptr || *number == 0) continue;
    const record::Series* same = series_named(view, *word);
    // A share of right answers is no loss, however near the numbers lie.
    const record::FoundScore score = record::first_score_name(*word);
    const bool is_share = score.name != nullptr && score.name->more_is_better;
    const record::Series* series = same != nullptr || is_share ? same : held_out;
    if (series == nullptr || series->size() < k_least) continue;
    const double last = final_level(*series);
    if (!std::isfinite(last)) continue;
    const int better = direction(*series);
    const double margin = better * (last - *number) / std::fabs(*number);
    const bool only = better != 0 && std::fabs(margin) <= k_same;
    const bool missed = same != nullptr && better != 0 && margin < -k_short;
    if (!only && !missed) continue;
    const std::vector<record::Origin> places{event->origin,
                                             view.shown_by(*series).origin(series->size() - 1)};
    view.set_at(only ? "baseline.only" : "baseline.missed", true,
                "a baseline is printed: " + event->text, places);
    view.set_at("baseline.value", *number, "as the program prints it", {event->origin});
    view.set_at("baseline.last", last, "the last records", {places.back()});
    view.set_at("baseline.name_text", series->raw_name, "the series", {places.back()});
    return;
  }
}

}  // namespace

std::vector<facts::Deriver> baseline_facts() {
  return {{.name = "baselines",
           .reads = {"event:baseline-printed", "series:eval_loss", "series:*"},
           .gives = {"baseline.only", "baseline.missed", "baseline.value", "baseline.last",
                     "baseline.name_text"},
           .derive = derive_baseline}};
}

}  // namespace aplomb::diagnosis
