#include "diagnosis/finite_median.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/median.h"

namespace aplomb::diagnosis {

std::optional<double> finite_median(const record::Series& series, std::size_t begin,
                                    std::size_t end) {
  std::vector<double> finite;
  for (std::size_t i = begin; i < end; ++i) {
    if (std::isfinite(series.value[i])) finite.push_back(series.value[i]);
  }
  if (finite.empty()) return std::nullopt;
  return core::upper_median(std::move(finite));
}

}  // namespace aplomb::diagnosis
