#pragma once
/// Thins a series for drawing: at most ReportSeries::k_chart_points, extremes and non-finite
/// samples stay.

#include <aplomb/report.h>

#include <vector>

#include "record/run.h"

namespace aplomb::report {

/// In the order of the series. Each of equal parts of it keeps its smallest, its largest and its
/// first non-finite sample; the first and the last sample always stay. One pass.
std::vector<ChartPoint> chart_points(const record::Series& series,
                                     std::size_t most = ReportSeries::k_chart_points);

}  // namespace aplomb::report
