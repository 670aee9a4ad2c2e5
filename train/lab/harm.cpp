#include "train/lab/harm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/median.h"

namespace aplomb::train::lab {
namespace {

using Points = std::vector<std::pair<std::int64_t, double>>;

/// NaN counts as the worst there is.
double median_from(const Points& points, std::size_t first, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = first; i < std::min(first + count, points.size()); ++i) {
    const double value = points[i].second;
    values.push_back(std::isfinite(value) ? value : std::numeric_limits<double>::infinity());
  }
  return core::upper_median(std::move(values));
}

double median_of_last(const Points& points, std::size_t count) {
  count = std::min(count, points.size());
  return median_from(points, points.size() - count, count);
}

/// The twin's level at `step`: its nearest earlier window.
double level_at(const Points& twin, std::int64_t step) {
  const auto after =
      std::upper_bound(twin.begin(), twin.end(), step,
                       [](std::int64_t at, const auto& point) { return at < point.first; });
  const auto end = static_cast<std::size_t>(after - twin.begin());
  const std::size_t begin = end > k_harm_window ? end - k_harm_window : 0;
  return median_from(twin, begin, std::max<std::size_t>(end - begin, 1));
}

/// Whether a record holds a loss or gradient norm that is (not) finite.
bool shows(const Sample& sample, bool finite) {
  return std::any_of(sample.values.begin(), sample.values.end(), [&](const auto& each) {
    return (each.first == "loss" || (!finite && each.first == "grad_norm")) &&
           std::isfinite(each.second) == finite;
  });
}

/// The first record that is not finite and behind which no loss is: one bad batch that was left out
/// has cost nothing.
std::optional<std::int64_t> lost_at(const Trace& run) {
  std::optional<std::int64_t> at;
  for (const Sample& each : run.samples) {
    if (shows(each, false)) {
      if (!at) at = each.step;
    } else if (shows(each, true)) {
      at.reset();
    }
  }
  return at;
}

std::int64_t end_of(const Trace& run) {
  return run.samples.empty() ? run.steps : run.samples.back().step;
}

}  // namespace

std::vector<std::pair<std::int64_t, double>> Trace::series(std::string_view name) const {
  std::vector<std::pair<std::int64_t, double>> points;
  for (const Sample& each : samples) {
    for (const auto& [key, value] : each.values) {
      if (key == name) points.emplace_back(each.step, value);
    }
  }
  return points;
}

Harm not_finite() {
  return {"from there on no loss is finite",
          [](const Trace& run, const Trace&) { return lost_at(run); }};
}

Harm above_twin(double ratio) {
  return {fmt::format("the median of five records is above {:g} times the healthy twin's", ratio),
          [ratio](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            const Points losses = run.series("loss");
            const Points healthy = twin.series("loss");
            if (healthy.empty()) return std::nullopt;
            for (std::size_t end = k_harm_window; end <= losses.size(); ++end) {
              const std::int64_t step = losses[end - 1].first;
              const double level = median_from(losses, end - k_harm_window, k_harm_window);
              if (level > ratio * level_at(healthy, step)) return step;
            }
            return lost_at(run);
          }};
}

Harm held_out_above_twin(double ratio) {
  return {fmt::format("the held-out loss is above {:g} times the healthy twin's", ratio),
          [ratio](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            const Points healthy = twin.series("eval_loss");
            for (const auto& [step, loss] : run.series("eval_loss")) {
              const auto same =
                  std::find_if(healthy.begin(), healthy.end(),
                               [at = step](const auto& each) { return each.first == at; });
              if (same == healthy.end()) continue;
              if (!std::isfinite(loss) || loss > ratio * same->second) return step;
            }
            return std::nullopt;
          }};
}

Harm little_learnt(double share) {
  return {fmt::format("the run's end: the loss came down less than {:g} of the twin's way", share),
          [share](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            const Points losses = run.series("loss");
            const Points healthy = twin.series("loss");
            if (healthy.empty()) return std::nullopt;
            if (losses.empty()) return end_of(run);
            const double start = median_from(healthy, 0, 1);
            const double end = median_of_last(healthy, k_harm_window);
            const double reached = median_of_last(losses, k_harm_window);
            if (reached <= start - share * (start - end)) return std::nullopt;
            return end_of(run);
          }};
}

Harm held_out_rises(double rise, std::size_t patience) {
  return {fmt::format("the held-out loss is {:g} above its best after {} evaluations without a "
                      "better one, and so is the result's",
                      rise, patience),
          [rise, patience](const Trace& run, const Trace&) -> std::optional<std::int64_t> {
            double best = std::numeric_limits<double>::infinity();
            double result = best;
            std::size_t since_best = 0;
            std::optional<std::int64_t> at;
            const Points losses = run.series("eval_loss");
            for (const auto& [step, loss] : losses) {
              if (run.result_step < 0 || step == run.result_step) result = loss;
              since_best = loss < best ? 0 : since_best + 1;
              if (loss < best) at.reset();
              best = std::min(best, loss);
              if (!at && since_best >= patience && loss > best * (1 + rise)) at = step;
            }
            if (losses.empty() || result <= best * (1 + rise)) return std::nullopt;
            return at ? at : end_of(run);
          }};
}

Harm at_end(std::string text) {
  return {"the run's end: " + std::move(text),
          [](const Trace& run, const Trace&) { return std::optional(end_of(run)); }};
}

std::optional<std::int64_t> lead_steps(std::optional<std::int64_t> alarm,
                                       std::optional<std::int64_t> harm) {
  if (!alarm || !harm) return std::nullopt;
  return *harm - *alarm;
}

}  // namespace aplomb::train::lab
