#include "sources/named_metrics.h"

#include "sources/metric_names.h"

namespace aplomb::sources {

void NamedMetrics::append(const std::string& key, std::int64_t step, double value,
                          std::uint64_t line, std::uint64_t offset) {
  const Metric& metric = metric_of(key);
  build_.append(metric.series, step, value * metric.scale, line, offset);
}

const NamedMetrics::Metric& NamedMetrics::metric_of(const std::string& key) {
  const auto known = metrics_.find(key);
  if (known != metrics_.end()) return known->second;
  // Further names than the builder takes are dropped by it; here they share one entry.
  const std::string& held = metrics_.size() < record::RunBuilder::k_max_series ? key : others_;
  const MetricName name = name_metric(key);
  const record::SeriesId series =
      build_.series(source_, name.series, key, name.role, record::StepKind::explicit_);
  return metrics_.insert_or_assign(held, Metric{series, name.scale}).first->second;
}

}  // namespace aplomb::sources
