#include "task/interleaved_evals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace aplomb::task {
namespace {

constexpr std::size_t k_least_steps = 2;
/// Of the larger one: what is printed twice differs by its digits only.
constexpr double k_apart = 0.02;

bool is_evaluation(record::Role role) {
  return role == record::Role::eval_loss || role == record::Role::eval_accuracy ||
         role == record::Role::eval_metric;
}

struct Group {
  std::size_t begin = 0;
  std::size_t size = 0;
};

std::vector<Group> groups_of(const record::Series& series) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool same =
        i > 0 && series.step[i] == series.step[i - 1] && series.segment[i] == series.segment[i - 1];
    if (same) {
      ++groups.back().size;
    } else {
      groups.push_back({i, 1});
    }
  }
  return groups;
}

bool differs(const record::Series& series, const Group& group) {
  const auto begin = series.value.begin() + static_cast<std::ptrdiff_t>(group.begin);
  const auto [least, most] =
      std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(group.size));
  return *most - *least > k_apart * std::max(std::fabs(*most), std::fabs(*least));
}

/// Each step has as many values, several; the last step may have been cut.
bool is_interleaved(const record::Series& series, const std::vector<Group>& groups) {
  if (series.thinned > 1 || series.nonfinite_count > 0 || groups.size() < k_least_steps)
    return false;
  const std::size_t sets = groups.front().size;
  if (sets < 2) return false;
  std::size_t apart = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool last = i + 1 == groups.size();
    if (groups[i].size != sets && !(last && groups[i].size < sets)) return false;
    if (differs(series, groups[i])) ++apart;
  }
  return apart * 2 > groups.size();
}

record::Series means_of(const record::Series& series, const std::vector<Group>& groups) {
  record::Series merged;
  merged.name = series.name;
  merged.raw_name = series.raw_name;
  merged.role = series.role;
  merged.step_kind = series.step_kind;
  merged.rank = series.rank;
  merged.source = series.source;
  merged.continuations = series.continuations;
  const std::size_t sets = groups.front().size;
  for (const Group& group : groups) {
    if (group.size != sets) continue;  // a mean over fewer sets is another number
    double sum = 0;
    for (std::size_t i = 0; i < group.size; ++i) sum += series.value[group.begin + i];
    const std::size_t at = group.begin;
    merged.append(series.step[at], sum / static_cast<double>(group.size), series.segment[at],
                  series.line[at], series.offset[at]);
  }
  return merged;
}

}  // namespace

void merge_interleaved_evals(record::Run& run) {
  for (record::Series& series : run.series) {
    if (!is_evaluation(series.role)) continue;
    const std::vector<Group> groups = groups_of(series);
    if (is_interleaved(series, groups)) series = means_of(series, groups);
  }
}

}  // namespace aplomb::task
