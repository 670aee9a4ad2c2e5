#include "task/class_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/median.h"
#include "core/text.h"

namespace aplomb::task {
namespace {

using record::Role;
using record::Series;

constexpr int k_most = 20;  // further up the logarithms lie closer than losses are known
/// Of ln C. The first losses of a sound start (weights of the usual deviations) lie within it.
constexpr double k_start = 0.01;
/// Evaluations of a model that guesses lie within it.
constexpr double k_eval = 0.006;
constexpr double k_share = 0.025;  // of an accuracy about 1/C over a few hundred samples
constexpr std::size_t k_first = 3;

std::vector<double> finite_values(const Series* series) {
  std::vector<double> values;
  if (series == nullptr) return values;
  for (const double value : series->value) {
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

/// The number of classes whose logarithm the level is; 0 where none is near enough.
int classes_at(double level, double tolerance) {
  for (int classes = 2; classes <= k_most; ++classes) {
    if (std::fabs(level - std::log(classes)) < tolerance * std::log(classes)) return classes;
  }
  return 0;
}

double share_of(double accuracy) { return accuracy > 1 ? accuracy / 100 : accuracy; }

/// An accuracy that stays at 1/C beside held-out losses that are no better than ln C.
int by_accuracy(const record::Run& run) {
  const std::vector<double> accuracy = finite_values(run.primary(Role::eval_accuracy));
  const std::vector<double> loss = finite_values(run.primary(Role::eval_loss));
  if (accuracy.size() < 3 || loss.size() < 3) return 0;
  const auto [least, most] = std::minmax_element(accuracy.begin(), accuracy.end());
  const double middle = share_of(core::upper_median(accuracy));
  if (!(middle > 0) || share_of(*most) - share_of(*least) > 2 * k_share) return 0;
  const int classes = static_cast<int>(std::lround(1 / middle));
  if (classes < 2 || classes > k_most || std::fabs(middle - 1.0 / classes) > k_share) return 0;
  const double guess = std::log(classes);
  const double best = *std::min_element(loss.begin(), loss.end());
  return best > 0.98 * guess && best < 1.2 * guess ? classes : 0;
}

/// Held-out losses that come to ln C and are never better.
int by_evaluations(const record::Run& run) {
  const std::vector<double> loss = finite_values(run.primary(Role::eval_loss));
  if (loss.size() < 3) return 0;
  const auto half = loss.begin() + static_cast<std::ptrdiff_t>(loss.size() / 2);
  const int classes = classes_at(core::upper_median({half, loss.end()}), k_eval);
  const bool never_better = classes > 0 && std::all_of(loss.begin(), loss.end(), [&](double value) {
                              return value > (1 - 3 * k_eval) * std::log(classes);
                            });
  const bool stays = classes > 0 && std::all_of(half, loss.end(), [&](double value) {
                       return std::fabs(value - std::log(classes)) < 3 * k_eval * std::log(classes);
                     });
  return never_better && stays ? classes : 0;
}

/// First losses that are ln C, each of them.
int by_start(const record::Run& run) {
  const Series* series = run.primary(Role::loss);
  const std::optional<double> level = first_level(run, Role::loss);
  if (!level) return 0;
  const int classes = classes_at(*level, k_start);
  // One number near a logarithm proves little: the closer they lie the closer it must be.
  const double apart = classes > 0 ? std::log((classes + 1.0) / classes) : 0;
  if (classes == 0 || std::fabs(*level - std::log(classes)) > 0.1 * apart) return 0;
  std::size_t near = 0;
  for (std::size_t i = 0; i < std::min(k_first, series->size()); ++i) {
    if (std::fabs(series->value[i] - std::log(classes)) < 2 * k_start * std::log(classes)) ++near;
  }
  return near >= 2 ? classes : 0;
}

}  // namespace

std::optional<double> first_level(const record::Run& run, Role role) {
  const Series* series = run.primary(role);
  if (series == nullptr || series->empty()) return std::nullopt;
  const std::int64_t first = series->step.front();
  const std::int64_t last = *std::max_element(series->step.begin(), series->step.end());
  if (first > (last - first) / 10 + 1 && series->step_kind == record::StepKind::explicit_ &&
      series->size() > 1) {
    const std::int64_t gap = series->step[1] - first;
    if (first > 2 * gap) return std::nullopt;  // the log begins in the middle of a run
  }
  std::vector<double> head;
  for (std::size_t i = 0; i < series->size() && head.size() < k_first; ++i) {
    if (std::isfinite(series->value[i])) head.push_back(series->value[i]);
  }
  if (head.empty()) return std::nullopt;
  return core::upper_median(head);
}

std::optional<Constant> batch_of_contrast(const record::Run& run) {
  constexpr double k_near = 0.03;  // of the logarithm: the temperature adds a little at first
  const std::optional<double> level = first_level(run, Role::loss);
  if (!level) return std::nullopt;
  for (int batch = 8; batch <= 65536; batch *= 2) {
    // Both halves of each pair may stand among the others: 2 N - 1 of them.
    for (const double others : {static_cast<double>(batch), static_cast<double>(batch) - 1}) {
      if (std::fabs(*level - std::log(others)) > k_near * std::log(others)) continue;
      return Constant{static_cast<double>(batch),
                      fmt::format("{} samples, by first losses that are their logarithm", batch),
                      {run.primary(Role::loss)->origin(0)}};
    }
  }
  return std::nullopt;
}

std::optional<Constant> class_count(const record::Run& run) {
  const auto told = [&](int classes, const char* by, Role role) {
    const Series* series = run.primary(role);
    return Constant{static_cast<double>(classes),
                    fmt::format("{} classes, by {}", classes, by),
                    {series->origin(0)}};
  };
  if (const int classes = by_evaluations(run))
    return told(classes, "held-out losses that are their logarithm", Role::eval_loss);
  if (const int classes = by_accuracy(run))
    return told(classes, "a held-out accuracy that is one of as many", Role::eval_accuracy);
  if (const int classes = by_start(run))
    return told(classes, "first losses that are their logarithm", Role::loss);
  return std::nullopt;
}

}  // namespace aplomb::task
