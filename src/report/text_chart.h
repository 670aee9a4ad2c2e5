#pragma once
/// A series drawn with characters: braille dots, or plain ASCII where the terminal knows no more.

#include <aplomb/report.h>

#include <optional>
#include <string>
#include <vector>

#include "report/terminal_text.h"

namespace aplomb::report {

struct TextChartOptions {
  std::size_t width = 70;  ///< columns of a line, labels included
  std::size_t rows = 4;
  bool unicode = true;
  std::optional<std::int64_t> mark;  ///< a step to point at
};

/// `rows` lines with the scale at their left, and a line below with the steps and the mark. The
/// scale is logarithmic where the values are positive and span two decades or more. Columns without
/// a finite value but with a NaN or Inf show an `x` in the top row. Empty for fewer than two
/// points.
std::vector<std::string> text_chart(const std::vector<ChartPoint>& points,
                                    const TextChartOptions& options, const Paint& paint);

/// Whether a chart of these values should be logarithmic: all finite ones positive, spanning at
/// least two decades.
bool wants_log_scale(const std::vector<ChartPoint>& points);

}  // namespace aplomb::report
