#pragma once
/// difference: what lies between two tensors of the same type and length, in one pass over both.
///
///     Difference moved = difference({before, count, ScalarType::bf16},
///                                   {after, count, ScalarType::bf16});
///     if (moved.changed == 0) ...    // frozen
///
/// A pair counts as finite where both elements are. Distances in units in the last place (ULP) are
/// numbers of representable values: from -0 to the smallest positive number it is 1, and -0 equals
/// +0. Sums are kept in float64. Like scan(): flat and contiguous data, any alignment of whole
/// elements, NaN and Inf are normal input, nothing is allocated, nothing throws.

#include <cstdint>

#include "scan/scan.h"

namespace aplomb::scan {

struct Difference {
  std::uint64_t changed = 0;    ///< elements with another value (float bits other than -0 and +0)
  std::uint64_t nonfinite = 0;  ///< pairs that are not finite
  double max_abs = 0;           ///< largest |after - before| over finite pairs
  double sum_squares = 0;       ///< of after - before, over finite pairs
  double before_squares = 0;    ///< of before, over finite pairs
  std::uint64_t max_ulps = 0;   ///< fp32, bf16, fp16; over finite pairs
  double sum_ulps = 0;          ///< likewise

  void add(const Difference& next);
};

/// Both tensors have the same type and count.
Difference difference(TensorView before, TensorView after);

/// One pair after the other, in plain C++: the definition that the SIMD kernels are tested against.
Difference difference_reference(TensorView before, TensorView after);

}  // namespace aplomb::scan
