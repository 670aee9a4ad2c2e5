#pragma once
/// Axes of the page's charts: ranges, round tick values and their labels.

#include <cstdint>
#include <string>
#include <vector>

namespace aplomb::report {

struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;  ///< then low > 0

  /// 0 at low, 1 at high; values outside are clamped.
  double part_of(double value) const;
};

/// Room at both ends, and a range that is never empty.
Axis padded_axis(double least, double most, bool log);

/// Round values within the axis, `least` or a few more: multiples of 1, 2 or 5, or decades.
std::vector<double> ticks(const Axis& axis, int least);

/// Steps as they are; 12000 as 12k, 3000000 as 3M.
std::string step_label(double step);

/// Up to four digits, exponents without needless zeros: `0.002`, `1e-5`, `2.5e7`.
std::string value_label(double value);

}  // namespace aplomb::report
