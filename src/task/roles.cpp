#include "task/roles.h"

#include <algorithm>
#include <array>
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

/// As the name says (`max_mem_gib`), or: a process that trains holds more than 10 MB and less than
/// 10 TB, and of these units one fits. A card holds more than its context of some 300 MiB and less
/// than 320 GiB.
double memory_scale(const record::Series& series, bool on_card) {
  constexpr double k_mib = 1024.0 * 1024.0;
  constexpr double k_least = 1e7;
  const double least_mib = on_card ? 320 : 64;  // below it GiB are meant
  if (!(series.max > 0)) return 0;
  if (series.max >= k_least) return 1;
  for (const std::string& word : name_words(series.raw_name)) {
    if (word == "gb" || word == "gib") return k_mib * 1024;
    if (word == "mb" || word == "mib") return k_mib;
  }
  return series.max >= least_mib ? k_mib : k_mib * 1024;
}

/// Shares, limits and what is left are no amounts in use.
bool is_amount(const std::string& name) {
  constexpr std::array<std::string_view, 12> k_other = {
      "free", "util",  "utilization", "utilisation", "pct",      "percent",
      "frac", "ratio", "total",       "limit",       "capacity", "available"};
  const std::vector<std::string> words = name_words(name);
  return std::none_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(k_other.begin(), k_other.end(), word) != k_other.end();
  });
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

/// Words of metrics that only a policy or a critic has. One alone may be another program's.
std::size_t words_of_policies(const record::Run& run) {
  constexpr std::array<std::string_view, 17> k_words = {
      "eps", "epsilon", "episode", "episodes", "vf",     "pg",  "pi",        "clipfrac", "adv",
      "q",   "td",      "rollout", "actor",    "critic", "ret", "advantage", "buffer"};
  std::size_t found = 0;
  for (const std::string_view each : k_words) {
    found += std::any_of(run.series.begin(), run.series.end(), [&](const record::Series& series) {
      const std::vector<std::string> words = name_words(series.raw_name);
      return std::find(words.begin(), words.end(), each) != words.end();
    });
  }
  return found;
}

/// A policy is trained: returns and scores of other programs are no rewards.
bool is_policy(const record::Run& run, const std::vector<Candidate>& candidates) {
  const bool told = has(run, Role::entropy) || has(run, Role::kl) || has(run, Role::clip_ratio) ||
                    has(run, Role::value_loss) || words_of_policies(run) >= 2;
  return told || std::any_of(candidates.begin(), candidates.end(), [](const Candidate& each) {
           return each.words.role == Role::entropy;
         });
}

/// `R=-318 H=1.395`: one letter, where a policy is trained.
void read_letters(const record::Run& run, std::vector<Candidate>& candidates) {
  if (words_of_policies(run) < 2) return;
  for (Candidate& each : candidates) {
    if (each.name == "R") each.words.role = Role::reward;
    if (each.name == "H") each.words.role = Role::entropy;
  }
}

void settle_memory(record::Run& run, const std::string& name, Role role) {
  if (has(run, role) || !is_amount(name)) return;
  const bool on_card = role == Role::memory_bytes;
  each_named(run, name, [&](record::Series& series) {
    const double scale = memory_scale(series, on_card);
    if (scale == 0) return;
    rescale(series, scale);
    name_as(series, on_card ? "memory_bytes" : "host_memory_bytes", role);
  });
}

/// `gpu_mem: 24.3`: a known name whose unit only the numbers tell. No training fits into 1 MB.
void settle_memory_units(record::Run& run) {
  constexpr double k_bytes = 1e6;
  for (record::Series& series : run.series) {
    const bool on_card = series.role == Role::memory_bytes;
    if (!on_card && series.role != Role::host_memory_bytes) continue;
    if (series.max > 0 && series.max < k_bytes) rescale(series, memory_scale(series, on_card));
  }
}

void settle_accuracy(record::Run& run, const Candidate& candidate) {
  const bool eval = candidate.words.held_out;
  const Role meant = eval ? Role::eval_accuracy : Role::accuracy;
  if (candidate.count < k_least_points || has(run, meant)) return;
  each_named(run, candidate.name, [&](record::Series& series) {
    if (series.min >= 0 && series.max <= 100)
      name_as(series, eval ? "eval_accuracy" : "accuracy", meant);
  });
}

/// What a run has one series of, and some of it only where a policy is trained.
bool told_of_once(const record::Run& run, const Candidate& candidate, bool policy) {
  const Role role = candidate.words.role;
  const bool of_policies = role == Role::reward || role == Role::is_ratio_mean;
  if (of_policies ? !policy : role != Role::entropy && role != Role::grad_norm) return false;
  return !candidate.words.held_out && candidate.count >= k_least_points && !has(run, role);
}

/// Roles that speak for themselves, whatever else the run holds.
void settle_plain(record::Run& run, const std::vector<Candidate>& candidates) {
  const bool policy = is_policy(run, candidates);
  for (const Candidate& candidate : candidates) {
    const Role role = candidate.words.role;
    // What memory shows is its peak.
    if (role == Role::memory_bytes || role == Role::host_memory_bytes) {
      settle_memory(run, candidate.name, role);
    } else if (candidate.words.extreme) {
      continue;
    } else if (role == Role::accuracy) {
      settle_accuracy(run, candidate);
    } else if (told_of_once(run, candidate, policy)) {
      each_named(run, candidate.name, [role](record::Series& series) {
        name_as(series, std::string(record::name(role)).c_str(), role);
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

/// `... | 1s`, `... | 2s` up to `| 20s`: the time since the start, and no step's.
bool is_elapsed(const record::Series& series) {
  constexpr std::size_t k_least = 8;
  constexpr double k_even =
      0.5;  // of the way a line through the first and last value has made at each quarter
  const std::size_t n = series.size();
  if (series.role != Role::step_time_s || n < k_least) return false;
  if (!std::is_sorted(series.value.begin(), series.value.end())) return false;
  const double pace = (series.value.back() - series.value.front()) / static_cast<double>(n - 1);
  if (pace <= 0 || series.value.front() > 3 * pace)
    return false;  // the first step is no longer than others
  for (const std::size_t at : {n / 4, n / 2, 3 * n / 4}) {
    const double there = series.value.front() + pace * static_cast<double>(at);
    if (series.value[at] < k_even * there || k_even * series.value[at] > there) return false;
  }
  return true;
}

void settle_elapsed(record::Run& run) {
  for (record::Series& series : run.series) {
    if (is_elapsed(series)) name_as(series, "elapsed_s", Role::other);
  }
}

/// `loss 1.79 train 0.225 val 0.162`: bare words of both kinds of data beside a loss that is another number are shares of right
/// answers, and no losses.
void settle_bare_shares(record::Run& run) {
  const record::Series* loss = run.primary(Role::loss);
  const record::Series* held_out = run.primary(Role::eval_loss);
  if (loss == nullptr || held_out == nullptr || !metric_words(held_out->raw_name).bare) return;
  const auto is_share = [](const record::Series& series) {
    return series.size() >= k_least_points && series.min >= 0 && series.max <= 1;
  };
  const auto train =
      std::find_if(run.series.begin(), run.series.end(), [&](const record::Series& series) {
        const MetricWords words = metric_words(series.raw_name);
        return series.role == Role::other && words.bare && !words.held_out && is_share(series);
      });
  if (train == run.series.end() || loss->empty() || !is_share(*held_out)) return;
  constexpr double k_another = 0.1;  // of the loss: more than a mean over other batches
  if (std::fabs(train->value.back() - loss->value.back()) <
      k_another * std::fabs(loss->value.back()))
    return;
  const std::string train_name = train->raw_name;
  const std::string held_out_name = held_out->raw_name;
  for (record::Series& series : run.series) {
    if (series.raw_name == held_out_name && series.role == Role::eval_loss)
      name_as(series, "eval_accuracy", Role::eval_accuracy);
    if (series.raw_name == train_name && series.role == Role::other)
      name_as(series, "accuracy", Role::accuracy);
  }
}

/// A model of rewards is trained on pairs: what it gives them is its output and no policy's reward.
/// (TRL's RewardTrainer logs min_reward, mean_reward, max_reward, margin and accuracy.)
void settle_reward_model(record::Run& run) {
  const auto named = [&run](std::string_view name) {
    return std::any_of(run.series.begin(), run.series.end(),
                       [&](const record::Series& series) { return series.raw_name == name; });
  };
  if (!named("min_reward") || !named("max_reward") || !named("margin")) return;
  for (record::Series& series : run.series) {
    if (series.role == Role::reward) name_as(series, "mean_reward", Role::other);
  }
}

}  // namespace

void settle_roles(record::Run& run) {
  settle_memory_units(run);
  settle_reward_model(run);
  settle_bare_shares(run);
  settle_elapsed(run);
  std::vector<Candidate> candidates = unknown_series(run);
  if (candidates.empty()) return;
  read_letters(run, candidates);
  settle_plain(run, candidates);
  settle_times(run, candidates);
  settle_losses(run, candidates);
}

}  // namespace aplomb::task
