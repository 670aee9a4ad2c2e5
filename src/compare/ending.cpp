#include "compare/ending.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/noise.h"
#include "compare/student.h"

namespace aplomb::compare {
namespace {

constexpr std::size_t k_least_window = 4;  // fewer differences have no scatter to speak of

std::size_t window_of(std::size_t size) {
  return std::max<std::size_t>(1, std::max(size / 10, std::min<std::size_t>(8, size / 2)));
}

/// The mean of the last `count`; NaN where half of them or more are not finite (or as good as).
double mean_of_last(const std::vector<double>& values, std::size_t count) {
  double sum = 0;
  std::size_t finite = 0;
  for (std::size_t i = values.size() - count; i < values.size(); ++i) {
    if (!is_usable(values[i], values[i])) continue;
    sum += values[i];
    ++finite;
  }
  if (2 * finite <= count) return std::numeric_limits<double>::quiet_NaN();
  return sum / static_cast<double>(finite);
}

/// Student's t on the differences of the last `count` pairs.
void judge_within(Ending& ending, const Pairs& pairs, Measured measured) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (is_usable(pairs.a[i], pairs.b[i])) difference.push_back(pairs.b[i] - pairs.a[i]);
  }
  const std::size_t count = std::min(ending.samples, difference.size());
  if (count < k_least_window) return;
  const auto last = difference.end() - static_cast<std::ptrdiff_t>(count);
  double mean = 0;
  for (auto it = last; it != difference.end(); ++it) mean += *it / static_cast<double>(count);
  double square = 0;
  for (auto it = last; it != difference.end(); ++it) square += (*it - mean) * (*it - mean);
  const Noise noise = noise_of(difference);
  const auto number = static_cast<double>(count);
  // The scatter of the window, but never less than that of the samples around: few are close
  // together by chance.
  const double sigma = std::max(std::sqrt(square / (number - 1)), noise.sigma.back());
  ending.basis = Basis::within;
  ending.freedom = noise.freedom();
  ending.noise =
      measured == Measured::on_held_out ? sigma : sigma / std::sqrt(number) * noise.inflation();
  const double off = std::fabs(ending.difference());
  ending.p = off == 0 ? 1.0 : two_sided_p(off / ending.noise, ending.freedom);
}

void judge_by_seeds(Ending& ending, const std::vector<std::vector<double>>& seeds) {
  std::vector<double> finals = {ending.a};
  for (const auto& seed : seeds) {
    const double last = mean_of_last(seed, ending.samples);
    if (std::isfinite(last)) finals.push_back(last);
  }
  if (finals.size() < 2) return;
  const auto count = static_cast<double>(finals.size());
  double mean = 0;
  for (const double each : finals) mean += each / count;
  double square = 0;
  for (const double each : finals) square += (each - mean) * (each - mean);
  // The within-run noise is that of a difference of two runs: one run has half of its variance.
  const double one_run = ending.basis == Basis::within ? ending.noise / std::sqrt(2.0) : 0.0;
  const double sigma = std::max(std::sqrt(square / (count - 1)), one_run);
  ending.basis = Basis::seeds;
  ending.freedom = count - 1;
  ending.noise = sigma * std::sqrt(1 + 1 / count);
  const double off = std::fabs(ending.b - mean);
  ending.p = off == 0 ? 1.0 : two_sided_p(off / ending.noise, ending.freedom);
}

}  // namespace

bool Ending::beyond_noise(std::size_t shares) const {
  if (std::isnan(a) != std::isnan(b)) return true;
  if (basis == Basis::none || std::isnan(p)) return false;
  const double level = basis == Basis::seeds ? k_level_seeds : k_level_within;
  return p < level / static_cast<double>(std::max<std::size_t>(1, shares));
}

Ending ending_of(const Pairs& pairs, const std::vector<std::vector<double>>& seeds,
                 Measured measured) {
  Ending ending;
  if (pairs.size() == 0) return ending;
  ending.samples = window_of(pairs.size());
  ending.a = mean_of_last(pairs.a, ending.samples);
  ending.b = mean_of_last(pairs.b, ending.samples);
  if (!std::isfinite(ending.a) || !std::isfinite(ending.b)) return ending;
  const std::vector<double> rounding = rounding_of(pairs.b);
  judge_within(ending, pairs, measured);
  if (!seeds.empty()) judge_by_seeds(ending, seeds);
  if (std::fabs(ending.difference()) <= 2 * rounding.back()) ending.p = 1;
  return ending;
}

}  // namespace aplomb::compare
