#include "diagnosis/trend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/median.h"

namespace aplomb::diagnosis {
namespace {

constexpr std::size_t k_most_blocks = 64;
constexpr std::size_t k_few = 12;          // records whose order has to agree
constexpr double k_one_sided = 1.645;      // 5 % of a normal distribution lie above
constexpr double k_median_error = 1.2533;  // of a median over that of a mean, normal noise
constexpr double k_order = 3;              // one in 700 series without a trend
constexpr double k_four_gain = 0.1;        // of four records in a row: far beyond one in 24
constexpr double k_plain_gain = 0.5;
constexpr double k_plain_sigmas = 10;
constexpr double k_turned = 0.02;  // of the level: half the digits of a printed loss

double median(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return core::median(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                          values.begin() + static_cast<std::ptrdiff_t>(end)));
}

/// Mean of the middle half: nearly as sure as a mean, and no spike moves it.
double middle_mean(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(begin),
                           values.begin() + static_cast<std::ptrdiff_t>(end));
  std::sort(part.begin(), part.end());
  const std::size_t cut = part.size() / 4;
  double sum = 0;
  for (std::size_t i = cut; i < part.size() - cut; ++i) sum += part[i];
  return sum / static_cast<double>(part.size() - 2 * cut);
}

std::vector<double> blocks_of(const std::vector<double>& values) {
  if (values.size() <= k_most_blocks) return values;
  std::vector<double> blocks;
  blocks.reserve(k_most_blocks);
  for (std::size_t i = 0; i < k_most_blocks; ++i) {
    const std::size_t begin = i * values.size() / k_most_blocks;
    const std::size_t end = (i + 1) * values.size() / k_most_blocks;
    blocks.push_back(middle_mean(values, begin, end));
  }
  return blocks;
}

/// No less than rounding makes: the last digit that ever changes is uniformly distributed.
double noise_of(const std::vector<double>& levels) {
  std::vector<double> bends;
  double digit = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const double step = std::fabs(levels[i] - levels[i - 1]);
    if (step > 0) digit = std::min(digit, step);
    if (i + 1 < levels.size())
      bends.push_back(std::fabs(levels[i - 1] - 2 * levels[i] + levels[i + 1]));
  }
  const double by_bends = 1.4826 * core::median(std::move(bends)) / std::sqrt(6.0);
  return std::isfinite(digit) ? std::max(by_bends, digit / std::sqrt(12.0)) : by_bends;
}

/// Mann and Kendall: pairs that fall less pairs that rise, in standard deviations; above 0 where
/// the values fall.
double order_of(const std::vector<double>& levels) {
  double falls = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t j = i + 1; j < levels.size(); ++j)
      falls += levels[j] < levels[i] ? 1 : levels[j] > levels[i] ? -1 : 0;
  }
  const auto n = static_cast<double>(levels.size());
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const double continuity = falls > 0 ? 1 : falls < 0 ? -1 : 0;
  return (falls - continuity) / deviation;
}

bool steps_down(const std::vector<double>& levels) {
  return std::adjacent_find(levels.begin(), levels.end(), std::less_equal<>()) == levels.end();
}

/// `gain` over the standard error of two levels that stand on so many records each.
double sigmas_of(double gain, double noise, std::size_t of_first, std::size_t of_last) {
  const auto error = [&](std::size_t count) {
    return (count > 2 ? k_median_error : 1.0) / std::sqrt(static_cast<double>(count));
  };
  const double whole = noise * std::hypot(error(of_first), error(of_last));
  if (whole <= 0) return gain == 0 ? 0 : std::copysign(1e9, gain);
  return gain / whole;
}

}  // namespace

std::optional<Trend> trend_of(const std::vector<double>& values, Better better) {
  const double sign = better == Better::lower ? 1 : -1;
  std::vector<double> levels;
  levels.reserve(values.size());
  for (const double value : values) {
    if (std::isfinite(value)) levels.push_back(sign * value);  // from here on lower is better
  }
  if (levels.size() < k_least_records) return std::nullopt;
  Trend trend;
  trend.records = levels.size();
  const double first = levels.front();
  levels = blocks_of(levels);
  const std::size_t n = levels.size();
  const std::size_t of_first = std::max<std::size_t>(1, n / 10);
  const std::size_t of_last = std::max<std::size_t>(1, n / 5);
  const std::size_t third = n / 3;
  trend.noise = noise_of(levels);
  const double start = median(levels, 0, of_first);
  const double last = median(levels, n - of_last, n);
  trend.gain = start - last;
  trend.sigmas = sigmas_of(trend.gain, trend.noise, of_first, of_last);
  const double scale = std::max(std::fabs(start), std::fabs(last));
  trend.gain_frac = first != 0 ? (first - last) / std::fabs(first) : 0;
  const double order = order_of(levels);
  const bool in_order = n >= k_few || order >= k_one_sided;
  const bool out_of_order = n >= k_few || order <= -k_one_sided;
  const auto counts = [&](double gain, double sigmas) {
    return sigmas >= k_sigmas && gain >= k_least_gain * scale;
  };
  // The ends alone; the outer thirds; and for a slow way the order of all records.
  const double slow = third > 0 ? median(levels, 0, third) - median(levels, n - third, n) : 0;
  const double slow_sigmas = third > 0 ? sigmas_of(slow, trend.noise, third, third) : 0;
  const bool slowly = n >= k_few && std::fabs(order) >= k_order && order * slow > 0 &&
                      std::fabs(slow) >= k_least_gain * scale;
  // Every record below the one before: one in 24 series of four does so by chance, and one in 120
  // of five.
  const bool every = steps_down(levels) &&
                     trend.gain >= (n > k_least_records ? k_least_gain : k_four_gain) * scale;
  // What fell by half at once needs no order: the records after it may all be alike.
  const bool plain = trend.gain >= k_plain_gain * scale && trend.sigmas >= k_plain_sigmas;
  trend.better =
      plain || every ||
      (in_order && trend.gain > 0 &&
       (counts(trend.gain, trend.sigmas) || counts(slow, slow_sigmas) || (slowly && slow > 0)));
  trend.worse =
      out_of_order && trend.gain < 0 &&
      (counts(-trend.gain, -trend.sigmas) || counts(-slow, -slow_sigmas) || (slowly && slow < 0));
  // The best of many records lies below their level by luck: that of three neighbours does not.
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 2 < n; ++i) best = std::min(best, median(levels, i, i + 3));
  trend.turned =
      last - best > std::max(3 * trend.noise, k_turned * std::fabs(best)) && levels.back() > best;
  const std::size_t quarter = std::max<std::size_t>(1, n / 4);
  const double after =
      median(levels, quarter, quarter + std::max<std::size_t>(1, (n - quarter) / 3));
  const double since = after - last;
  const double known_to = trend.noise * k_median_error / std::sqrt(static_cast<double>(of_last));
  trend.settled =
      n >= 8 && trend.gain > 0 && std::fabs(since) < std::max(0.1 * trend.gain, known_to);
  trend.start = sign * start;
  trend.last = sign * last;
  trend.best = sign * best;
  return trend;
}

}  // namespace aplomb::diagnosis
