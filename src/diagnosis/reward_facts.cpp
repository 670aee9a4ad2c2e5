#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "diagnosis/finite_median.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// Whether sampler and trainer agree on the first samples, and for how long.
void derive_agreement(FactView& view) {
  auto ratio = view.number("is_ratio_mean.first");
  if (!ratio) ratio = view.number("error.is-ratio-printed.ratio");
  if (ratio) {
    // TRL's own tests take a first-step ratio within 5 % of 1 as equal.
    view.set("rl.is_ratio_off", std::fabs(*ratio - 1) > 0.05,
             "importance ratio " + core::show_number(*ratio), {"error.is-ratio-printed"});
  }
  const record::Series* series = view.series(record::Role::logp_difference);
  if (series == nullptr || series->size() < 4) return;
  const auto before = finite_median(*series, 0, series->size() / 2);
  const auto after = finite_median(*series, series->size() / 2, series->size());
  if (!before || !after) return;
  if (*before > 0) {
    view.set("logp_difference.rising", *after > 2 * *before,
             "difference of log-probabilities " + core::show_number(*before) + " -> " +
                 core::show_number(*after));
  }
  // Healthy below 0.1 (axolotl's training stability guide). Weights that are pushed late are still
  // equal at the first step; other arithmetic or another temperature is off from the start.
  constexpr double k_healthy = 0.1;
  const double first = series->value.front();
  view.set("rl.sampler_falls_behind", first < k_healthy && *after > k_healthy && *after > 3 * first,
           "difference of log-probabilities " + core::show_number(first) + " at first, later " +
               core::show_number(*after));
}

/// Whether the reward has come up to the top of its range, and stays.
void derive_top(FactView& view) {
  const record::Series* series = view.series(record::Role::reward);
  constexpr std::size_t k_least = 20;  // axolotl's training stability guide: patience of rewards
  if (series == nullptr || series->size() < k_least) return;
  // Few records: a policy that is paid for the wrong thing is there within a twentieth of its run.
  const auto early = finite_median(*series, 0, std::max<std::size_t>(3, series->size() / 50));
  const auto late = finite_median(*series, series->size() * 3 / 4, series->size());
  if (!early || !late) return;
  // Of the way up, beside a highest value that noise has made; and a way that is no noise itself.
  constexpr double k_top = 0.05;
  constexpr double k_way = 0.25;  // of all that the reward ever moved
  const double way = series->max - *early;
  const double range = series->max - series->min;
  view.set("reward.at_top", range > 0 && way >= k_way * range && series->max - *late <= k_top * way,
           "reward " + core::show_number(*early) + " at first, " + core::show_number(*late) +
               " in the last quarter, highest " + core::show_number(series->max));
}

void derive_scores(FactView& view) {
  for (const record::Series& series : view.all_series()) {
    if (series.role == record::Role::reward_component_std && series.max > 1e-6) {
      view.set("reward.scores_vary", true, series.name + " up to " + core::show_number(series.max));
    }
  }
}

bool is_part_of_reward(const record::Series& series) {
  if (series.role == record::Role::reward_component) return true;
  if (series.role != record::Role::other) return false;
  static constexpr std::string_view k_parts[] = {"correct", "accura", "answer", "exact",
                                                 "match",   "format", "solve",  "success"};
  const std::string name = core::lower(series.name);
  const bool named = name.find('/') != name.npos || name.find("reward") != name.npos;
  return named && name.find("std") == name.npos &&
         std::any_of(std::begin(k_parts), std::end(k_parts),
                     [&](std::string_view part) { return name.find(part) != name.npos; });
}

/// A reward of several functions, one of which never gave anything, while another does: what it looks
/// for is not there as it looks for it, or no sample comes near.
void derive_unpaid(FactView& view) {
  constexpr std::uint64_t k_least = 10;  // records
  if (view.text("run.kind") != "rl") return;
  const record::Series* unpaid = nullptr;
  bool paid = false;
  for (const record::Series& series : view.all_series()) {
    if (series.count < k_least || series.nonfinite_count > 0) continue;
    paid = paid || (series.role == record::Role::reward && series.max > 0);
    if (is_part_of_reward(series) && series.max == 0 && series.min == 0 && unpaid == nullptr)
      unpaid = &series;
  }
  if (!paid || unpaid == nullptr) return;
  view.set_at("reward.part_unpaid", true,
              unpaid->name + " is 0 in all " + std::to_string(unpaid->count) + " records",
              {unpaid->origin(0), unpaid->origin(unpaid->size() - 1)});
  view.set("reward.part_unpaid.name_text", unpaid->name, "");
}

}  // namespace

std::vector<facts::Deriver> reward_facts() {
  return {{.name = "sampler and trainer",
           .reads = {"is_ratio_mean.first", "error.is-ratio-printed.ratio",
                     "error.is-ratio-printed", "series:logp_difference"},
           .gives = {"rl.is_ratio_off", "logp_difference.rising", "rl.sampler_falls_behind"},
           .derive = derive_agreement},
          {.name = "reward at its top",
           .reads = {"series:reward"},
           .gives = {"reward.at_top"},
           .derive = derive_top},
          {.name = "reward functions",
           .reads = {"series:*"},
           .gives = {"reward.scores_vary"},
           .derive = derive_scores},
          {.name = "parts of the reward",
           .reads = {"series:*", "run.kind"},
           .gives = {"reward.part_unpaid", "reward.part_unpaid.name_text"},
           .derive = derive_unpaid}};
}

}  // namespace aplomb::diagnosis
