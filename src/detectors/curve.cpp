#include "detectors/curve.h"

#include <algorithm>
#include <cmath>

namespace aplomb::detectors {
namespace {

double median3(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double median_of(std::span<const double> values) {
  core::SortedWindow<core::BlockSummary::k_blocks + 1> sorted;
  for (const double each : values) sorted.push(each);
  return sorted.median();
}

/// White noise of sigma s: the median of |x_i+1 - x_i| is 0.954 s.
double noise_of(std::span<const double> level) {
  core::SortedWindow<core::BlockSummary::k_blocks + 1> steps;
  for (std::size_t i = 1; i < level.size(); ++i) steps.push(std::fabs(level[i] - level[i - 1]));
  return steps.median() / 0.954;
}

void find_sudden(Curve& curve, std::span<const core::Block> blocks) {
  const double rise = curve.rise();
  if (!(rise > 0)) return;
  for (std::size_t i = curve.best_index; i + 1 < curve.size; ++i) {
    const std::size_t until = std::min(i + 3, curve.size - 1);
    // The lower of the two sides that follow: a spike rises and falls again, a step stays.
    const double share = (std::min(curve.smooth[until], curve.last) - curve.smooth[i]) / rise;
    if (share <= curve.sudden_share) continue;
    curve.sudden_share = share;
    curve.sudden_step = blocks[i + 1].first_step;
  }
}

}  // namespace

Curve curve_of(const core::BlockSummary& summary) {
  const std::span<const core::Block> blocks = summary.blocks();
  Curve curve;
  if (blocks.size() < 3) return curve;
  const std::size_t n = blocks.size();
  curve.size = n;
  curve.samples = summary.count();
  for (std::size_t i = 0; i < n; ++i) curve.level[i] = blocks[i].level();
  const std::span<const double> level{curve.level.data(), n};
  for (std::size_t i = 1; i + 1 < n; ++i)
    curve.smooth[i] = median3(level[i - 1], level[i], level[i + 1]);
  // The ends have one neighbour: the first keeps a steep start, the last keeps a steep end.
  curve.smooth[0] = std::max(curve.smooth[1], level[0]);
  curve.smooth[n - 1] = median3(level[n - 1], level[n - 2], level[n - 3]);
  curve.start =
      summary.width() >= 4 ? level[0] : std::max(level[0], median3(level[0], level[1], level[2]));
  if (summary.width() < 4 && level[0] > 10 * curve.smooth[1])
    curve.start = curve.smooth[1];  // one wild first value
  const auto* const best = std::min_element(
      curve.smooth.begin(), curve.smooth.begin() + static_cast<std::ptrdiff_t>(n - 2));
  curve.best_index = static_cast<std::size_t>(best - curve.smooth.begin());
  curve.best = *best;
  curve.best_step = blocks[curve.best_index].last_step;
  curve.first_step = blocks.front().first_step;
  curve.last_step = blocks.back().last_step;
  const std::size_t tail = std::max<std::size_t>(3, n / 10);
  const std::span<const double> ending = level.subspan(n - tail);
  curve.last = median_of(ending);
  curve.middle = median_of(level.subspan(n / 2));
  curve.tail_least = *std::min_element(ending.begin(), ending.end());
  curve.tail_most = *std::max_element(ending.begin(), ending.end());
  curve.peak =
      *std::max_element(curve.smooth.begin() + static_cast<std::ptrdiff_t>(curve.best_index),
                        curve.smooth.begin() + static_cast<std::ptrdiff_t>(n));
  curve.noise = noise_of(level);
  const std::size_t after = std::min(curve.best_index + 3, n - 1);
  curve.after_best_least =
      *std::min_element(curve.smooth.begin() + static_cast<std::ptrdiff_t>(after),
                        curve.smooth.begin() + static_cast<std::ptrdiff_t>(n));
  curve.after_best_share = static_cast<double>(n - after) / static_cast<double>(n);
  find_sudden(curve, blocks);
  return curve;
}

}  // namespace aplomb::detectors
