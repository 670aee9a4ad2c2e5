#include "task/roles.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "task/metric_words.h"

namespace aplomb::task {
namespace {

using record::Role;

constexpr std::uint64_t k_least_points = 3;  // fewer make no curve

bool has(const record::Run& run, Role role) {
  const record::Series* series = run.primary(role);
  return series != nullptr && series->count >= k_least_points;
}

/// Some step of training is told by it already: a policy's loss or an addend of a loss.
bool has_objective(const record::Run& run) {
  return has(run, Role::loss) || has(run, Role::loss_component) || has(run, Role::reward);
}

struct Candidate {
  std::string name;
  MetricWords words;
  std::uint64_t count = 0;
};

bool is_time(const MetricWords& words) {
  return words.role == Role::data_time_s || words.part == Part::compute_time;
}

/// A process that trains holds more than 10 MB and less than 10 TB: of these units one fits.
double memory_scale(const record::Series& series) {
  constexpr double k_mib = 1024.0 * 1024.0;
  constexpr double k_least = 1e7;
  constexpr double k_least_mib = 64;  // below it GiB are meant
  if (!(series.max > 0)) return 0;
  if (series.max >= k_least) return 1;
  return series.max >= k_least_mib ? k_mib : k_mib * 1024;
}

/// Times of a batch that a program prints are seconds, or milliseconds where one of them is above
/// 10.
double time_scale(const record::Run& run, const std::vector<Candidate>& candidates) {
  constexpr double k_most_s = 10;
  double longest = 0;
  for (const Candidate& each : candidates) {
    if (!is_time(each.words)) continue;
    for (const record::Series& series : run.series) {
      if (series.name == each.name) longest = std::max(longest, series.max);
    }
  }
  return longest > k_most_s ? 1e-3 : 1;
}

void rescale(record::Series& series, double scale) {
  if (scale == 1) return;
  for (double& value : series.value) value *= scale;
  series.min *= scale;
  series.max *= scale;
}

void name_as(record::Series& series, const char* name, Role role) {
  series.name = name;
  series.role = role;
}

/// Every series of one made-up name gets its role: an event file and a log may both hold it.
template <typename Change>
void each_named(record::Run& run, const std::string& name, const Change& change) {
  for (record::Series& series : run.series) {
    if (series.name == name) change(series);
  }
}

std::vector<Candidate> unknown_series(const record::Run& run) {
  std::vector<Candidate> found;
  for (const record::Series& series : run.series) {
    if (series.role != Role::other || series.count == 0) continue;
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Candidate& each) { return each.name == series.name; });
    if (!known) found.push_back({series.name, metric_words(series.raw_name), series.count});
  }
  return found;
}

/// A policy is trained: returns and scores of other programs are no rewards.
bool is_policy(const record::Run& run, const std::vector<Candidate>& candidates) {
  const bool told = has(run, Role::entropy) || has(run, Role::kl) || has(run, Role::clip_ratio) ||
                    has(run, Role::value_loss);
  return told || std::any_of(candidates.begin(), candidates.end(), [](const Candidate& each) {
           return each.words.role == Role::entropy;
         });
}

/// Roles that speak for themselves, whatever else the run holds.
void settle_plain(record::Run& run, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    const Role role = candidate.words.role;
    if (role == Role::other || role == Role::loss || candidate.words.extreme) continue;
    if (role == Role::accuracy && candidate.count >= k_least_points) {
      const bool eval = candidate.words.held_out;
      const Role meant = eval ? Role::eval_accuracy : Role::accuracy;
      if (has(run, meant)) continue;
      each_named(run, candidate.name, [&](record::Series& series) {
        if (series.min >= 0 && series.max <= 100)
          name_as(series, eval ? "eval_accuracy" : "accuracy", meant);
      });
      continue;
    }
    const bool told_of_once =
        role == Role::entropy || role == Role::grad_norm || role == Role::reward;
    if (told_of_once && !candidate.words.held_out && candidate.count >= k_least_points &&
        !has(run, role) && (role != Role::reward || is_policy(run, candidates))) {
      each_named(run, candidate.name, [role](record::Series& series) {
        name_as(series, std::string(record::name(role)).c_str(), role);
      });
      continue;
    }
    if (role == Role::host_memory_bytes) {
      if (has(run, role)) continue;
      each_named(run, candidate.name, [](record::Series& series) {
        const double scale = memory_scale(series);
        if (scale == 0) return;
        rescale(series, scale);
        name_as(series, "host_memory_bytes", Role::host_memory_bytes);
      });
    }
  }
}

void settle_times(record::Run& run, const std::vector<Candidate>& candidates) {
  if (has(run, Role::data_time_s)) return;
  const double scale = time_scale(run, candidates);
  for (const Candidate& candidate : candidates) {
    if (!is_time(candidate.words) || candidate.words.extreme) continue;
    const bool data = candidate.words.role == Role::data_time_s;
    each_named(run, candidate.name, [&](record::Series& series) {
      rescale(series, scale);
      if (data) name_as(series, "data_time_s", Role::data_time_s);
    });
  }
}

/// Of the losses on training data (or held-out data) the one that is most of the objective, and of
/// equals the longest.
const Candidate* leading_loss(const std::vector<Candidate>& candidates, bool held_out) {
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates) {
    const bool loss = each.words.role == Role::loss || each.words.bare;
    if (!loss || each.words.extreme || each.words.held_out != held_out) continue;
    if (each.count < k_least_points) continue;
    const auto rank = [](const Candidate& c) {
      // `train 1.53` beside `val bce 0.67`: whatever it is, it is the whole.
      return std::pair{c.words.bare ? -1 : c.words.order, -static_cast<std::int64_t>(c.count)};
    };
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  return best;
}

void settle_losses(record::Run& run, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    const bool adversary =
        candidate.words.part == Part::discriminator || candidate.words.part == Part::generator;
    if (!adversary || candidate.words.held_out) continue;
    each_named(run, candidate.name,
               [](record::Series& series) { series.role = Role::loss_component; });
  }
  if (has_objective(run)) return;
  const Candidate* train = leading_loss(candidates, false);
  const Candidate* held_out = leading_loss(candidates, true);
  if (train == nullptr && held_out == nullptr) return;
  if (train != nullptr) {
    each_named(run, train->name,
               [](record::Series& series) { name_as(series, "loss", Role::loss); });
  }
  for (const Candidate& candidate : candidates) {
    const bool loss = candidate.words.role == Role::loss || candidate.words.bare;
    if (!loss || &candidate == train || candidate.words.extreme) continue;
    const bool counterpart = held_out == &candidate && !has(run, Role::eval_loss) &&
                             (train == nullptr || train->words.bare || candidate.words.bare ||
                              train->words.formula == candidate.words.formula);
    each_named(run, candidate.name, [&](record::Series& series) {
      if (counterpart) {
        name_as(series, "eval_loss", Role::eval_loss);
      } else if (candidate.words.held_out) {
        series.role = Role::eval_metric;
      }
    });
  }
}

}  // namespace

void settle_roles(record::Run& run) {
  const std::vector<Candidate> candidates = unknown_series(run);
  if (candidates.empty()) return;
  settle_plain(run, candidates);
  settle_times(run, candidates);
  settle_losses(run, candidates);
}

}  // namespace aplomb::task
