#include "task/held_out_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/text.h"
#include "task/metric_words.h"

namespace aplomb::task {
namespace {

/// Of an accuracy: that of 100 samples is known to 0.1 (two standard errors).
constexpr double k_points = 0.12;
constexpr double k_times = 1.4;
constexpr double k_least = 0.1;  // nats; below it both are next to nothing
constexpr std::uint64_t k_least_validations = 3;

bool is_of_test(const record::Series& series) {
  const std::vector<std::string> words = name_words(series.raw_name);
  return std::find(words.begin(), words.end(), "test") != words.end();
}

/// The longest series of a role on validation data, or on test data.
const record::Series* longest(const record::Run& run, record::Role role, bool of_test) {
  const record::Series* found = nullptr;
  for (const record::Series& series : run.series) {
    if (series.role != role || series.empty() || is_of_test(series) != of_test) continue;
    if (!std::isfinite(series.value.back())) continue;
    if (found == nullptr || series.count > found->count) found = &series;
  }
  return found;
}

double share_of(double accuracy) { return accuracy > 1 ? accuracy / 100 : accuracy; }

std::optional<HeldOutGap> gap_of(const record::Run& run, record::Role role) {
  const record::Series* validation = longest(run, role, false);
  const record::Series* test = longest(run, role, true);
  if (validation == nullptr || test == nullptr || validation->count < k_least_validations)
    return std::nullopt;
  const double known = validation->value.back();
  const double fresh = test->value.back();
  const bool accuracy = role == record::Role::eval_accuracy;
  const bool worse = accuracy ? share_of(known) - share_of(fresh) >= k_points
                              : known > 0 && fresh >= k_times * known && fresh - known >= k_least;
  if (!worse) return std::nullopt;
  return HeldOutGap{
      known,
      fresh,
      fmt::format("{} {} on validation data, {} on test data", accuracy ? "accuracy" : "loss",
                  core::show_number(known, 3), core::show_number(fresh, 3)),
      {validation->origin(validation->size() - 1), test->origin(test->size() - 1)}};
}

}  // namespace

std::optional<HeldOutGap> held_out_gap(const record::Run& run) {
  if (auto gap = gap_of(run, record::Role::eval_accuracy)) return gap;
  return gap_of(run, record::Role::eval_loss);
}

}  // namespace aplomb::task
