#include "live/buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aplomb::live {
namespace {

/// One bucket while it is filled.
struct Filling {
  bool open = false;
  bool odd = false;  ///< holds a sample that is not finite
  double odd_value = 0;
  std::int64_t step = 0;
  std::int64_t last = 0;
  std::int64_t bucket = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void see(double value) {
    if (std::isfinite(value)) {
      min = std::min(min, value);
      max = std::max(max, value);
    } else if (!odd) {
      odd = true;
      odd_value = value;
    }
  }
  void put(Buckets& out) const {
    const bool finite = min <= max;
    out.steps.push_back(step);
    out.min.push_back(finite ? min : odd_value);
    out.max.push_back(odd ? odd_value : max);
  }
};

}  // namespace

Buckets buckets_of(const record::Series& series, const std::vector<Later>& later,
                   std::optional<std::int64_t> from, std::optional<std::int64_t> to,
                   std::size_t most) {
  const std::size_t early = series.size();
  const std::size_t all = early + later.size();
  const auto step_at = [&](std::size_t i) {
    return i < early ? series.step[i] : later[i - early].step;
  };
  Buckets out;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  std::size_t inside = 0;
  const auto wanted = [&](std::int64_t step) {
    return (!from || step >= *from) && (!to || step <= *to);
  };
  for (std::size_t i = 0; i < all; ++i) {
    const std::int64_t step = step_at(i);
    if (!wanted(step)) continue;
    ++inside;
    least = std::min(least, step);
    highest = std::max(highest, step);
  }
  if (inside == 0) return out;
  most = std::max<std::size_t>(most, 1);
  const bool each = inside <= most;
  out.exact = each && series.thinned == 1;
  const double width =
      (static_cast<double>(highest) - static_cast<double>(least) + 1) / static_cast<double>(most);
  Filling now;
  for (std::size_t i = 0; i < all; ++i) {
    const std::int64_t step = step_at(i);
    if (!wanted(step)) continue;
    const auto bucket = static_cast<std::int64_t>(
        (static_cast<double>(step) - static_cast<double>(least)) / std::max(width, 1e-9));
    if (now.open && (each || bucket != now.bucket || step < now.last)) {
      now.put(out);
      now = {};
    }
    if (!now.open) {
      now.open = true;
      now.step = step;
      now.bucket = bucket;
    }
    now.last = step;
    now.see(i < early ? series.value[i] : later[i - early].value);
  }
  now.put(out);
  return out;
}

}  // namespace aplomb::live
