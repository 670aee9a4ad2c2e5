#include "report/chart_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace aplomb::report {
namespace {

/// Indices of one part that must stay: its extremes and its first non-finite sample.
struct Kept {
  std::optional<std::size_t> least, most, nonfinite;

  void see(const record::Series& series, std::size_t index) {
    const double value = series.value[index];
    if (!std::isfinite(value)) {
      if (!nonfinite) nonfinite = index;
      return;
    }
    if (!least || value < series.value[*least]) least = index;
    if (!most || value > series.value[*most]) most = index;
  }

  void put(std::vector<std::size_t>& out) const {
    std::array<std::optional<std::size_t>, 3> all = {least, most, nonfinite};
    std::sort(all.begin(), all.end());
    for (const auto& index : all) {
      if (index && (out.empty() || out.back() < *index)) out.push_back(*index);
    }
  }
};

std::vector<std::size_t> kept_indices(const record::Series& series, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t parts = std::max<std::size_t>(1, (most - 2) / 3);
  out.reserve(most);
  out.push_back(0);
  for (std::size_t part = 0; part < parts; ++part) {
    Kept kept;
    const std::size_t end = series.size() * (part + 1) / parts;
    for (std::size_t i = series.size() * part / parts; i < end; ++i) kept.see(series, i);
    kept.put(out);
  }
  if (out.back() + 1 < series.size()) out.push_back(series.size() - 1);
  return out;
}

}  // namespace

std::vector<ChartPoint> chart_points(const record::Series& series, std::size_t most) {
  std::vector<ChartPoint> points;
  if (series.size() <= most) {
    points.reserve(series.size());
    for (std::size_t i = 0; i < series.size(); ++i) {
      points.push_back({series.step[i], series.value[i]});
    }
    return points;
  }
  for (const std::size_t i : kept_indices(series, most)) {
    points.push_back({series.step[i], series.value[i]});
  }
  return points;
}

}  // namespace aplomb::report
