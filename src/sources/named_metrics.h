#pragma once
/// NamedMetrics: the series of the metrics of a tracker's file, by the names that it gives them.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "record/run_builder.h"

namespace aplomb::sources {

class NamedMetrics {
 public:
  NamedMetrics(record::RunBuilder& build, record::SourceId source)
      : build_(build), source_(source) {}

  /// A sample of a metric with a name.
  void append(const std::string& key, std::int64_t step, double value, std::uint64_t line,
              std::uint64_t offset);

 private:
  struct Metric {
    record::SeriesId series = 0;
    double scale = 1;
  };

  const Metric& metric_of(const std::string& key);

  record::RunBuilder& build_;
  record::SourceId source_;
  const std::string others_;  ///< empty: a key that no metric has
  std::unordered_map<std::string, Metric> metrics_;
};

}  // namespace aplomb::sources
