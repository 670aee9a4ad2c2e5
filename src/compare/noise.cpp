#include "compare/noise.h"

#include <algorithm>
#include <cmath>

#include "core/median.h"
#include "core/robust_window.h"

namespace aplomb::compare {
namespace {

constexpr std::size_t k_trend_half = 16;     // of the running median: 33 samples
constexpr std::size_t k_spread_window = 65;  // residuals whose spread is sigma: 10 % exact
constexpr double k_mad_to_sigma = 1.4826;    // of Gaussian noise: 1 / 0.6745
constexpr double k_most_correlation = 0.9;   // an average over some twenty samples: more is trend

/// The spread over the 65 residuals around each; at the ends over those that there are. The first
/// and last samples have no neighbours on one side, their residual is 0 by construction: left out.
std::vector<double> local_spread(const std::vector<double>& residual) {
  const std::size_t size = residual.size();
  const std::size_t edge = std::min<std::size_t>(2, (size - 1) / 2);
  const std::size_t half = k_spread_window / 2;
  std::vector<double> spread(size);
  core::SortedWindow<k_spread_window> window;
  std::size_t taken = edge;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t to = std::min(std::max(i, half) + half + 1, size - edge);
    for (; taken < to; ++taken) window.push(std::fabs(residual[taken]));
    spread[i] = k_mad_to_sigma * window.median();
  }
  return spread;
}

double correlation_of(const std::vector<double>& residual, const std::vector<double>& sigma) {
  constexpr double k_clip = 4;  // one spike is not to decide
  double product = 0;
  double square = 0;
  double before = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (!(sigma[i] > 0)) continue;
    const double now = std::clamp(residual[i] / sigma[i], -k_clip, k_clip);
    product += now * before;
    square += now * now;
    before = now;
  }
  return square > 0 ? std::clamp(product / square, 0.0, k_most_correlation) : 0.0;
}

/// Whether 10^-decimals (fixed) or so many significant digits hold the value.
bool is_written(double value, double unit) {
  return std::fabs(value - std::round(value / unit) * unit) <=
         1e-9 * unit + 1e-12 * std::fabs(value);
}
double unit_of(double value, int digits, bool significant) {
  const double exponent =
      significant && value != 0 ? std::floor(std::log10(std::fabs(value))) - digits + 1 : -digits;
  return std::pow(10.0, exponent);
}

}  // namespace

std::vector<double> running_median(const std::vector<double>& values, std::size_t half) {
  const std::size_t size = values.size();
  std::vector<double> out(size);
  core::SortedWindow<2 * k_trend_half + 1> window;
  const bool sliding = half == k_trend_half;  // only that width slides; narrower ones are cheap
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t reach = std::min({half, i, size - 1 - i});
    if (sliding && reach == half) {
      for (std::size_t k = window.empty() ? i - half : i + half; k <= i + half; ++k)
        window.push(values[k]);
      out[i] = window.median();
    } else {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i - reach);
      out[i] = core::median({begin, begin + static_cast<std::ptrdiff_t>(2 * reach + 1)});
    }
  }
  return out;
}

double Noise::freedom() const {
  const double square = correlation * correlation;
  const auto looked_at = static_cast<double>(std::min(sigma.size(), k_spread_window));
  return std::max(2.0, looked_at * (1 - square) / (1 + square) - 1);
}

double Noise::inflation() const { return std::sqrt((1 + correlation) / (1 - correlation)); }

Noise noise_of(const std::vector<double>& values) {
  Noise noise;
  const std::size_t size = values.size();
  noise.sigma.assign(size, 0.0);
  if (size < 5) return noise;
  std::vector<double> residual = running_median(values, k_trend_half);
  for (std::size_t i = 0; i < size; ++i) residual[i] = values[i] - residual[i];
  const std::vector<double> spread = local_spread(residual);
  // Also as far ahead and behind: where two equal runs part, the noise behind the place is 0.
  const std::size_t half = k_spread_window / 2;
  for (std::size_t i = 0; i < size; ++i) {
    noise.sigma[i] = std::max(
        {spread[i], spread[i > half ? i - half : 0], spread[std::min(i + half, size - 1)]});
  }
  noise.correlation = correlation_of(residual, noise.sigma);
  return noise;
}

std::vector<double> rounding_of(const std::vector<double>& values) {
  constexpr double k_float32 = 1.3e-6;
  constexpr std::size_t k_looked_at = 512;
  constexpr int k_most_digits = 6;  // a float32 holds 7: more were not cut
  std::vector<double> some;
  for (const double value : values) {
    if (std::isfinite(value) && value != 0 && some.size() < k_looked_at) some.push_back(value);
  }
  int digits = 0;
  bool significant = true;
  for (int tried = 2; tried <= k_most_digits && digits == 0 && some.size() > 3; ++tried) {
    for (const bool by_significant : {true, false}) {
      const bool all = std::all_of(some.begin(), some.end(), [&](double value) {
        return is_written(value, unit_of(value, tried, by_significant));
      });
      if (!all || digits > 0) continue;
      digits = tried;
      significant = by_significant;
    }
  }
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = digits > 0 && std::isfinite(values[i]) ? unit_of(values[i], digits, significant) / 2
                                                    : k_float32 * std::fabs(values[i]);
  }
  return out;
}

}  // namespace aplomb::compare
