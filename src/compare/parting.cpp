#include "compare/parting.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "compare/noise.h"
#include "compare/student.h"

namespace aplomb::compare {
namespace {

constexpr std::size_t k_least_pairs = 16;
constexpr double k_reference = 0.5;
constexpr double k_clip = 4;

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

/// The threshold h of a sum over so many terms. Siegmund: one side runs 2 (e^(h + 1.166) - h -
/// 2.166) terms for k = 1/2 until a false alarm; alarms come at random, two sides twice as often:
/// 2 size / run length = k_false_alarm, and h + 2.166 is small beside its exponential.
double threshold_for(std::size_t size) {
  return std::log(static_cast<double>(size) / k_false_alarm) - 1.166;
}

struct FinitePairs {
  std::vector<std::size_t> index;
  std::vector<double> difference;  // B - A
  std::vector<double> rounding;    // by which both together may be off
};

FinitePairs finite_of(const Pairs& pairs) {
  const std::vector<double> round_a = rounding_of(pairs.a);
  const std::vector<double> round_b = rounding_of(pairs.b);
  FinitePairs out;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!is_usable(pairs.a[i], pairs.b[i])) continue;
    out.index.push_back(i);
    out.difference.push_back(pairs.b[i] - pairs.a[i]);
    out.rounding.push_back(round_a[i] + round_b[i]);
  }
  return out;
}

/// One side of Page's sum.
class OneSide {
 public:
  explicit OneSide(double threshold) : threshold_(threshold) {}
  bool add(std::size_t at, double term) {
    if (sum_ <= 0) since_ = at;
    sum_ = std::max(0.0, sum_ + term - k_reference);
    return sum_ > threshold_;
  }
  std::size_t since() const { return since_; }

 private:
  double threshold_;
  double sum_ = 0;
  std::size_t since_ = 0;
};

/// Where a further seed would lie: the seeds' mean and Student's half width around it.
struct Band {
  std::vector<double> middle;
  std::vector<double> half;
};

Band band_of(const std::vector<std::vector<double>>& seeds, const std::vector<double>& floor) {
  const std::size_t size = seeds.front().size();
  const auto count = static_cast<double>(seeds.size());
  std::vector<double> middle(size);
  std::vector<double> variance(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (const auto& each : seeds) middle[i] += each[i] / count;
    for (const auto& each : seeds)
      variance[i] += (each[i] - middle[i]) * (each[i] - middle[i]) / (count - 1);
  }
  // Pooled over neighbours: few seeds lie close together at some place by chance.
  constexpr std::size_t k_half = 16;
  const double t = critical_t(k_false_alarm, count - 1) * std::sqrt(1 + 1 / count);
  std::vector<double> half(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t from = i > k_half ? i - k_half : 0;
    const std::size_t to = std::min(i + k_half + 1, size);
    double sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += variance[k];
    half[i] = std::max(t * std::sqrt(sum / static_cast<double>(to - from)), floor[i]);
  }
  return {std::move(middle), std::move(half)};
}

std::vector<double> picked(const std::vector<double>& values, const std::vector<std::size_t>& at) {
  std::vector<double> out;
  out.reserve(at.size());
  for (const std::size_t i : at) out.push_back(values[i]);
  return out;
}

}  // namespace

Likeness likeness_of(const Pairs& pairs) {
  const std::vector<double> round_a = rounding_of(pairs.a);
  const std::vector<double> round_b = rounding_of(pairs.b);
  Likeness out{pairs.size(), pairs.size()};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (same_bits(pairs.a[i], pairs.b[i])) continue;
    out.bits = std::min(out.bits, i);
    // Half a unit more: the sum of two halves is compared with a whole.
    const double most = (round_a[i] + round_b[i]) * (1 + 1e-6);
    if (std::fabs(pairs.a[i] - pairs.b[i]) <= most) continue;
    out.digits = i;
    break;
  }
  return out;
}

std::optional<std::size_t> first_broken(const Pairs& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (std::isfinite(pairs.a[i]) != std::isfinite(pairs.b[i])) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> parting_of(const Pairs& pairs) {
  const FinitePairs finite = finite_of(pairs);
  if (finite.index.size() < k_least_pairs) return std::nullopt;
  const Noise noise = noise_of(finite.difference);
  const double threshold = threshold_for(finite.index.size());
  OneSide above(threshold);
  OneSide below(threshold);
  for (std::size_t i = 0; i < finite.index.size(); ++i) {
    const double sigma = std::max(noise.sigma[i] * noise.inflation(), finite.rounding[i]);
    const double difference = finite.difference[i];
    const double term = sigma > 0 ? std::clamp(difference / sigma, -k_clip, k_clip)
                                  : (difference == 0 ? 0 : std::copysign(k_clip, difference));
    if (above.add(i, term)) return finite.index[above.since()];
    if (below.add(i, -term)) return finite.index[below.since()];
  }
  return std::nullopt;
}

std::optional<std::size_t> parting_from_seeds(const Pairs& pairs,
                                              const std::vector<std::vector<double>>& seeds) {
  constexpr std::size_t k_smooth_half = 4;
  constexpr std::size_t k_in_a_row = 8;  // about as many as are smoothed over: not one of them
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    bool whole = is_usable(pairs.a[i], pairs.b[i]);
    for (const auto& seed : seeds) whole = whole && is_usable(seed[i], seed[i]);
    if (whole) places.push_back(i);
  }
  if (places.size() < k_least_pairs) return std::nullopt;
  std::vector<std::vector<double>> smooth = {
      running_median(picked(pairs.a, places), k_smooth_half)};
  for (const auto& seed : seeds)
    smooth.push_back(running_median(picked(seed, places), k_smooth_half));
  const std::vector<double> b = running_median(picked(pairs.b, places), k_smooth_half);
  const Band band = band_of(smooth, rounding_of(b));
  std::size_t row = 0;
  int side = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double off = b[i] - band.middle[i];
    const int now = std::fabs(off) <= band.half[i] ? 0 : (off > 0 ? 1 : -1);
    row = now != 0 && now == side ? row + 1 : (now != 0 ? 1 : 0);
    side = now;
    if (row == k_in_a_row) return places[i + 1 - k_in_a_row];
  }
  return std::nullopt;
}

}  // namespace aplomb::compare
