#pragma once
/// Which charts a reader wants to see first, and where to look on them.

#include <aplomb/report.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace aplomb::report {

/// The loss first, then what trouble was seen on, then what else people look at; only series with
/// enough points to draw.
std::vector<const ReportSeries*> chart_order(const Report& report);

/// The step at which the trouble of this series begins; else that of the run's first trouble.
std::optional<std::int64_t> mark_of(const Report& report, const ReportSeries& series);

}  // namespace aplomb::report
