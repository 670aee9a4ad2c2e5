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

/// Final values of the runs of one side.
struct Finals {
  double count = 0;
  double mean = 0;
  double variance = 0;  ///< of one run; never less than that within a run
};

Finals finals_of(double first, const std::vector<std::vector<double>>& further, std::size_t samples,
                 double within) {
  std::vector<double> values = {first};
  for (const auto& run : further) {
    const double last = mean_of_last(run, samples);
    if (std::isfinite(last)) values.push_back(last);
  }
  Finals finals;
  finals.count = static_cast<double>(values.size());
  for (const double each : values) finals.mean += each / finals.count;
  for (const double each : values)
    finals.variance +=
        (each - finals.mean) * (each - finals.mean) / std::max(finals.count - 1, 1.0);
  finals.variance = std::max(finals.variance, within * within);
  return finals;
}

/// Whether the last value of one side is one that a further run of the other would have.
void judge_by_prediction(Ending& ending, const Finals& known, double off) {
  ending.freedom = known.count - 1;
  ending.noise = std::sqrt(known.variance * (1 + 1 / known.count));
  ending.p = off == 0 ? 1.0 : two_sided_p(off / ending.noise, ending.freedom);
}

void judge_by_welch(Ending& ending, const Finals& a, const Finals& b, double off) {
  const double of_a = a.variance / a.count;
  const double of_b = b.variance / b.count;
  ending.noise = std::sqrt(of_a + of_b);
  ending.freedom = ending.noise == 0
                       ? a.count + b.count - 2
                       : (of_a + of_b) * (of_a + of_b) /
                             (of_a * of_a / (a.count - 1) + of_b * of_b / (b.count - 1));
  ending.p = off == 0 ? 1.0 : two_sided_p(off / ending.noise, ending.freedom);
}

void judge_by_runs(Ending& ending, const Further& further) {
  // The within-run noise is that of a difference of two runs: one run has half of its variance.
  const double within = ending.basis == Basis::within ? ending.noise / std::sqrt(2.0) : 0.0;
  const Finals a = finals_of(ending.a, further.a, ending.samples, within);
  const Finals b = finals_of(ending.b, further.b, ending.samples, within);
  if (a.count + b.count < 3) return;
  ending.runs_a = static_cast<std::size_t>(a.count);
  ending.runs_b = static_cast<std::size_t>(b.count);
  const double off = std::fabs(b.mean - a.mean);
  if (b.count == 1) {
    ending.basis = Basis::seeds;
    judge_by_prediction(ending, a, off);
    return;
  }
  ending.basis = Basis::groups;
  ending.a = a.mean;
  ending.b = b.mean;
  if (a.count == 1) {
    judge_by_prediction(ending, b, off);
  } else {
    judge_by_welch(ending, a, b, off);
  }
}

}  // namespace

bool Ending::beyond_noise(std::size_t shares) const {
  if (std::isnan(a) != std::isnan(b)) return true;
  if (basis == Basis::none || std::isnan(p)) return false;
  const double level = basis == Basis::within ? k_level_within : k_level_seeds;
  return p < level / static_cast<double>(std::max<std::size_t>(1, shares));
}

Ending ending_of(const Pairs& pairs, const Further& further, Measured measured) {
  Ending ending;
  if (pairs.size() == 0) return ending;
  ending.samples = window_of(pairs.size());
  ending.a = mean_of_last(pairs.a, ending.samples);
  ending.b = mean_of_last(pairs.b, ending.samples);
  if (!std::isfinite(ending.a) || !std::isfinite(ending.b)) return ending;
  const std::vector<double> rounding = rounding_of(pairs.b);
  judge_within(ending, pairs, measured);
  judge_by_runs(ending, further);
  if (std::fabs(ending.difference()) <= 2 * rounding.back()) ending.p = 1;
  return ending;
}

}  // namespace aplomb::compare
