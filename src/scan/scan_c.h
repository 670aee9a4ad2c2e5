#pragma once
/// Between the C API's words and ours.

#include <aplomb/scan.h>

#include <algorithm>
#include <cstdint>

#include "scan/scan.h"

namespace aplomb::scan {

constexpr std::int32_t k_types = 12;  ///< aplomb_dtype counts as ScalarType does

inline int check(const aplomb_tensor& tensor) {
  if (tensor.dtype < 0 || tensor.dtype >= k_types) return APLOMB_SCAN_BAD_TYPE;
  return tensor.data == nullptr && tensor.count > 0 ? APLOMB_SCAN_BAD_ARGUMENT : APLOMB_SCAN_OK;
}

inline aplomb_tensor_stats as_c(const TensorStats& from) {
  aplomb_tensor_stats to{};
  to.count = from.count;
  to.nan = from.nan;
  to.inf = from.inf;
  to.zeros = from.zeros;
  to.first_nonfinite = from.first_nonfinite;
  to.sum = from.sum;
  to.sum_squares = from.sum_squares;
  to.norm = from.norm();
  to.mean = from.mean();
  to.max_abs = from.max_abs;
  to.min_abs = from.min_abs;
  std::copy(from.exponents.begin(), from.exponents.end(), to.exponents);
  return to;
}

}  // namespace aplomb::scan
