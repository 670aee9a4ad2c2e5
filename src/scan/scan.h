#pragma once
/// scan: every statistic that a judgement of a tensor needs, in one pass at the speed of memory.
///
///     TensorView grads[] = {{data, count, ScalarType::bf16}, ...};
///     std::vector<TensorStats> stats(std::size(grads));
///     scan_many(grads, stats, 2);
///
/// Method: each element is read once from memory; sums of x and x^2 are kept in float64 (so the
/// norm is good to 1e-12), and the exponents' bytes are packed and counted exactly, by positional
/// population counts of one-hot codes. Extremes, zeros and non-finite values cost a second look, in
/// the cache, at blocks whose exponents ask for it. One source is compiled for each SIMD target and
/// chosen at run time (Google Highway); results are the same for every thread count.
///
/// Shapes: flat, contiguous. Data need not be aligned to anything but its own element. NaN and Inf
/// are normal input. Reads only; never throws; nothing is allocated per call but one partial result
/// a chunk in scan_many.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "numerics/format.h"

namespace aplomb::scan {

enum class ScalarType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u8,
  boolean
};

/// Bytes of one element.
std::size_t size_of(ScalarType type);
/// `F32`, `BF16`, `I64`, `BOOL` (safetensors' names).
std::string_view name(ScalarType type);
/// The number format of a floating type; nothing for integers.
std::optional<numerics::Format> format_of(ScalarType type);

struct TensorView {
  const void* data = nullptr;
  std::uint64_t count = 0;
  ScalarType type = ScalarType::f32;
};

struct TensorStats {
  std::uint64_t count = 0;
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
  std::uint64_t zeros = 0;
  std::int64_t first_nonfinite = -1;  ///< index of the first NaN or Inf, -1 where there is none
  double sum = 0;                     ///< over finite elements
  double sum_squares = 0;             ///< over finite elements
  double max_abs = 0;                 ///< over finite elements; 0 where there is none
  double min_abs = std::numeric_limits<double>::infinity();  ///< over finite non-zero elements
  /// Finite elements by floor(log2 |x|) + 127: bin 127 holds [1, 2). Bin 0 holds zeros and all
  /// below 2^-126, bin 255 all from 2^128 up (float64 and integers only).
  std::array<std::uint64_t, 256> exponents{};

  std::uint64_t finite() const { return count - nan - inf; }
  /// L2 norm as torch gives it: NaN with a NaN inside, else Inf with an Inf inside.
  double norm() const;
  double mean() const;  ///< likewise
  /// Non-zero finite elements whose magnitude lies below the smallest normal number of the format:
  /// they would be subnormal or vanish there.
  std::uint64_t below_normal(numerics::Format format) const;
  /// Finite elements beyond the format's largest finite value, by whole binades (an element in the
  /// format's top binade counts as inside).
  std::uint64_t beyond_range(numerics::Format format) const;

  /// Joins the statistics of the elements that follow.
  void add(const TensorStats& next);
};

/// One element after the other, in plain C++: the definition that the SIMD kernels are tested
/// against.
TensorStats scan_reference(TensorView tensor);

/// One tensor, one thread, SIMD.
TensorStats scan(TensorView tensor);

/// Many tensors on `threads` threads (at least 1; the calling thread is one of them). `stats` has
/// one entry a tensor. Work is cut into chunks of a fixed size that are joined in order: the result
/// does not depend on `threads`.
void scan_many(std::span<const TensorView> tensors, std::span<TensorStats> stats, int threads);

/// The SIMD target in use, e.g. `AVX3_ZEN4`: for benchmarks and bug reports.
std::string_view scan_target();

}  // namespace aplomb::scan
