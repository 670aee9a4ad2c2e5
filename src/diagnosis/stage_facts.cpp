/// Whether the loss jumps where the run says that its task changes: a curriculum's next stage
/// (`digits` goes from 1 to 2, `maxlen` from 3 to 5), a restart of the learning rate.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/median.h"
#include "core/text.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

constexpr std::size_t k_least_records = 8;
/// A rise from one record to the next that is a jump: a quarter of all that the loss ever moved,
/// and eight times its usual step.
constexpr double k_jump = 0.25;
constexpr double k_usual_steps = 8;
/// A stage lasts this many records and more; there are at most so many of them.
constexpr std::size_t k_least_stage = 3;
constexpr std::size_t k_most_stages = 12;
/// A schedule that restarts at least doubles its learning rate.
constexpr double k_restart = 2;

/// A change of something that the run logs beside its loss.
struct Change {
  std::int64_t step = 0;
  std::string words;
  record::Origin origin;
};

/// Counters change in steps as well, and announce nothing.
bool counts(std::string_view name) {
  constexpr std::array<std::string_view, 9> k_counters = {"epoch", "step",  "iter", "batch", "rank",
                                                          "time",  "token", "eta",  "seen"};
  return std::any_of(k_counters.begin(), k_counters.end(),
                     [&](std::string_view word) { return core::icontains(name, word); });
}

std::vector<Change> stages_of(const FactView& view, const record::Series& series) {
  std::vector<Change> changes;
  std::size_t since = 0;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (series.value[i] == series.value[i - 1]) continue;
    if (i - since < k_least_stage) return {};
    since = i;
    changes.push_back(
        {series.step[i],
         fmt::format("{} goes from {} to {}", series.name, core::show_number(series.value[i - 1]),
                     core::show_number(series.value[i])),
         view.shown_by(series).origin(i)});
  }
  return changes.size() < k_most_stages ? changes : std::vector<Change>();
}

std::vector<Change> restarts_of(const FactView& view, const record::Series& lr) {
  std::vector<Change> changes;
  double peak = 0;
  for (std::size_t i = 1; i < lr.size(); ++i) {
    peak = std::max(peak, lr.value[i - 1]);
    // A warm-up rises too, above all that was there before it.
    if (lr.value[i] < k_restart * lr.value[i - 1] || lr.value[i - 1] <= 0 ||
        lr.value[i] > 1.5 * peak)
      continue;
    changes.push_back(
        {lr.step[i],
         fmt::format("the learning rate goes from {} back up to {}",
                     core::show_number(lr.value[i - 1]), core::show_number(lr.value[i])),
         view.shown_by(lr).origin(i)});
  }
  return changes;
}

std::vector<Change> changes_of(const FactView& view, const record::Series& loss) {
  std::vector<Change> all;
  for (const record::Series& series : view.all_series()) {
    if (series.size() < k_least_records || series.step_kind != loss.step_kind) continue;
    std::vector<Change> found;
    if (series.role == record::Role::lr) {
      found = restarts_of(view, series);
    } else if (series.role == record::Role::other && !counts(series.name)) {
      found = stages_of(view, series);
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

double usual_step(const record::Series& loss) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < loss.size(); ++i)
    steps.push_back(std::fabs(loss.value[i] - loss.value[i - 1]));
  return core::upper_median(std::move(steps));
}

/// The change that falls on record `at` of the loss: not before the record ahead of it.
const Change* change_at(const std::vector<Change>& changes, const record::Series& loss,
                        std::size_t at) {
  const auto found = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
    return change.step > loss.step[at - 1] && change.step <= loss.step[at];
  });
  return found == changes.end() ? nullptr : &*found;
}

void derive_stages(FactView& view) {
  const record::Series* loss = view.series(record::Role::loss);
  if (loss == nullptr || loss->size() < k_least_records) return;
  const bool finite = std::all_of(loss->value.begin(), loss->value.end(),
                                  [](double value) { return std::isfinite(value); });
  if (!finite) return;
  const std::vector<Change> changes = changes_of(view, *loss);
  if (changes.empty()) return;
  const auto [low, high] = std::minmax_element(loss->value.begin(), loss->value.end());
  const double jump = std::max(k_jump * (*high - *low), k_usual_steps * usual_step(*loss));
  const Change* first = nullptr;
  bool all = true;
  for (std::size_t i = 1; i < loss->size(); ++i) {
    if (loss->value[i] - loss->value[i - 1] < jump) continue;
    const Change* change = change_at(changes, *loss, i);
    all = all && change != nullptr;
    if (first == nullptr) first = change;
  }
  if (first == nullptr && all) return;  // no rise at all
  view.set_at("loss.rises_with_stage", all,
              all ? "the loss jumps where " + first->words : "the loss jumps where nothing changes",
              all ? std::vector<record::Origin>{first->origin} : std::vector<record::Origin>{});
}

}  // namespace

std::vector<facts::Deriver> stage_facts() {
  return {{.name = "stages",
           .reads = {"series:loss", "series:*"},
           .gives = {"loss.rises_with_stage"},
           .derive = derive_stages}};
}

}  // namespace aplomb::diagnosis
