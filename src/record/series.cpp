#include "record/series.h"

#include <algorithm>
#include <cmath>

namespace aplomb::record {
namespace {

/// Of two neighbours the one to keep: the non-finite, else the one further from the sample before
/// them.
bool keep_second(double before, double first, double second) {
  if (!std::isfinite(first)) return false;
  if (!std::isfinite(second)) return true;
  if (!std::isfinite(before)) return false;
  return std::fabs(second - before) > std::fabs(first - before);
}

}  // namespace

void Series::go_on_with(const Series& later) {
  static constexpr unsigned k_last_segment = std::numeric_limits<std::uint16_t>::max();
  const unsigned shift = segment.empty() ? 0U : segment.back() + 1U;
  const auto shifted = [shift](std::uint16_t at) {
    const unsigned sum = std::min<unsigned>(k_last_segment, at + shift);
    return static_cast<std::uint16_t>(sum);
  };
  continuations.push_back({shifted(0), later.source});
  for (const Continuation& each : later.continuations) {
    continuations.push_back({shifted(each.first_segment), each.source});
  }
  for (std::size_t i = 0; i < later.size(); ++i) {
    keep(later.step[i], later.value[i], shifted(later.segment[i]), later.line[i], later.offset[i]);
  }
  count += later.count;
  nonfinite_count += later.nonfinite_count;
  thinned = std::max(thinned, later.thinned);
  min = std::fmin(min, later.min);  // fmin and fmax leave out a NaN on one side
  max = std::fmax(max, later.max);
}

void Series::make_room() {
  constexpr std::size_t k_least = 16;
  constexpr std::size_t k_growth = 4;  // as the columns
  if (value.size() >= k_max_points) {
    thin();
  } else {
    value.reserve(std::clamp(k_growth * value.size(), k_least, k_max_points));
  }
}

void Series::thin() {
  std::vector<std::uint32_t> kept;
  kept.reserve(value.size() / 2);
  double before = value[0];
  for (std::size_t i = 0; i + 1 < value.size(); i += 2) {
    // Finite neighbours, as nearly all are, without a branch: which of two is kept is chance.
    const double from_first = std::fabs(value[i] - before);
    const double from_second = std::fabs(value[i + 1] - before);
    bool second = from_second > from_first;
    if (!std::isfinite(from_first + from_second))
      second = keep_second(before, value[i], value[i + 1]);
    before = second ? value[i + 1] : value[i];
    value[kept.size()] = before;
    kept.push_back(static_cast<std::uint32_t>(i + (second ? 1 : 0)));
  }
  value.resize(kept.size());
  step.keep(kept);
  segment.keep(kept);
  line.keep(kept);
  offset.keep(kept);
  thinned *= 2;
}

}  // namespace aplomb::record
