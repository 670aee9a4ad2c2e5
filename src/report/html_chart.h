#pragma once
/// Charts of the page: SVG whose lines stretch with the page while labels keep their size.

#include <aplomb/report.h>

#include <string>
#include <vector>

namespace aplomb::report {

/// Lines that share their axes: the training and the evaluation loss.
struct ChartSpec {
  std::string title;
  std::vector<const ReportSeries*> lines;
};

/// The page's charts in two groups: what every reader looks at, and the rest.
struct ChartPlan {
  std::vector<ChartSpec> main;
  std::vector<ChartSpec> more;
};
ChartPlan plan_charts(const Report& report);

/// Whether the symptom was seen on one of the chart's series, and so is shaded there.
bool is_seen_on(const ReportSymptom& symptom, const ChartSpec& spec);

/// One <figure>. `id` is its place in the data that hovering reads (chart_data).
std::string html_chart(const ChartSpec& spec, const Report& report, std::size_t id);

/// The samples of every chart, in the order of their ids, as JSON for the page's script.
std::string chart_data(const std::vector<ChartSpec>& specs, const Report& report);

}  // namespace aplomb::report
