#pragma once
/// The middle of some numbers, where a mean would follow the one that stands out.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace aplomb::core {

/// The upper of the two in the middle where their number is even; of none NaN. The values must not
/// hold NaN. O(n).
inline double upper_median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The mean of the two in the middle where their number is even; otherwise as upper_median().
inline double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace aplomb::core
