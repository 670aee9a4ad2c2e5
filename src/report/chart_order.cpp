#include "report/chart_order.h"

#include <algorithm>
#include <string_view>

namespace aplomb::report {

std::vector<const ReportSeries*> chart_order(const Report& report) {
  constexpr std::size_t k_least_points = 4;
  std::vector<const ReportSeries*> order;
  const auto add = [&](auto wanted) {
    const auto at = std::find_if(report.series.begin(), report.series.end(), wanted);
    if (at == report.series.end() || at->chart.size() < k_least_points) return;
    if (std::find(order.begin(), order.end(), &*at) == order.end()) order.push_back(&*at);
  };
  const auto of_role = [](std::string_view role) {
    return [role](const ReportSeries& series) { return series.role == role; };
  };
  add(of_role("loss"));
  for (const ReportSymptom& symptom : report.symptoms) {
    if (symptom.severity == "note") break;
    add([&](const ReportSeries& series) { return series.name == symptom.series; });
  }
  for (const char* role : {"grad_norm", "reward", "eval_loss", "lr"}) add(of_role(role));
  return order;
}

std::optional<std::int64_t> mark_of(const Report& report, const ReportSeries& series) {
  const ReportSymptom* worst = nullptr;
  for (const ReportSymptom& symptom : report.symptoms) {
    if (symptom.severity == "note") continue;
    if (symptom.series == series.name) return symptom.first_step;
    if (worst == nullptr) worst = &symptom;
  }
  if (worst == nullptr || worst->series.empty()) return std::nullopt;
  return worst->first_step;
}

}  // namespace aplomb::report
