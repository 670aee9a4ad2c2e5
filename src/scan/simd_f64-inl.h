// The scan of fp64, once for each SIMD target.
//
// Blocks of k_f64_block elements: one pass for the sums, the extremes and a byte of each exponent,
// clamped to the histogram's bins, then the bytes are counted (simd_histogram-inl.h). A block with
// an element below 2^-126 (zeros among them), beyond 2^128, or not finite is looked at one by one.

#if defined(APLOMB_SCAN_SIMD_F64_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APLOMB_SCAN_SIMD_F64_INL_H_
#undef APLOMB_SCAN_SIMD_F64_INL_H_
#else
#define APLOMB_SCAN_SIMD_F64_INL_H_
#endif

#include <algorithm>

#include "scan/element.h"
#include "scan/simd_histogram-inl.h"
#include "scan/simd_read-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

constexpr std::size_t k_f64_block = 512;

using Wide = hn::ScalableTag<double>;
using VW = hn::Vec<Wide>;

/// What is kept over all regular blocks.
struct WideSums {
  // Written out: GCC compiles an implicit constructor without the target's instructions.
  HWY_INLINE WideSums() {
    for (VW& each : x) each = hn::Zero(Wide());
    for (VW& each : squares) each = hn::Zero(Wide());
    most = hn::Zero(Wide());
    least = hn::Set(Wide(), std::numeric_limits<double>::infinity());
  }
  VW x[4], squares[4];
  VW most, least;
};

/// Bins of a vector's exponents, as Lanes(Wide()) bytes: 0 stands for below 2^-126, 255 for 2^128
/// and beyond, NaN and Inf.
HWY_INLINE void store_bins(VW magnitude, std::uint8_t* to) {
  const hn::RebindToUnsigned<Wide> d64;
  const hn::Rebind<std::uint16_t, Wide> d16;
  const hn::Rebind<std::uint8_t, Wide> d8;
  const auto exponents = hn::TruncateTo(d16, hn::ShiftRight<52>(hn::BitCast(d64, magnitude)));
  const auto bins = hn::Min(hn::SaturatedSub(exponents, hn::Set(d16, 896)), hn::Set(d16, 255));
  hn::StoreU(hn::TruncateTo(d8, bins), d8, to);
}

/// `after` <- `sums` and the block.
HWY_INLINE void add_wide(const double* block, const WideSums& sums, WideSums& after,
                         std::uint8_t* bins) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  after = sums;
  for (std::size_t i = 0; i < k_f64_block; i += 4 * lanes) {
    for (std::size_t k = 0; k < 4; ++k) {
      const VW value = hn::LoadU(d, block + i + k * lanes);
      const VW magnitude = hn::Abs(value);
      after.x[k] = hn::Add(after.x[k], value);
      after.squares[k] = hn::MulAdd(value, value, after.squares[k]);
      after.most = hn::Max(after.most, magnitude);
      after.least = hn::Min(after.least, magnitude);
      store_bins(magnitude, bins + i + k * lanes);
    }
  }
}

HWY_INLINE Range range_of(const std::uint8_t* bins) {
  const U8 d;
  Range range{hn::Zero(d), hn::Set(d, 0xFF)};
  for (std::size_t i = 0; i < k_f64_block; i += hn::Lanes(d)) {
    const VB each = hn::Load(d, bins + i);
    range.most = hn::Max(range.most, each);
    range.least = hn::Min(range.least, each);
  }
  return range;
}

TensorStats scan_f64(TensorView tensor) {
  const Wide d;
  TensorStats stats;
  Histogram histogram(stats.exponents);
  WideSums sums[2];
  int now = 0;
  HWY_ALIGN std::uint8_t bins[k_f64_block];
  const auto* data = static_cast<const double*>(tensor.data);
  const std::uint64_t whole = tensor.count - tensor.count % k_f64_block;
  for (std::uint64_t from = 0; from < whole; from += k_f64_block) {
    add_wide(data + from, sums[now], sums[1 - now], bins);
    const Range range = range_of(bins);
    if (!is_within(range, 1, 254)) {
      add_elements(stats, tensor, from, from + k_f64_block);
      continue;
    }
    now = 1 - now;
    stats.count += k_f64_block;
    const Extremes found = extremes_of(range);
    histogram.add(bins, k_f64_block, found.top, found.bottom);
  }
  histogram.finish();
  WideSums& all = sums[now];
  const auto total = [&](VW* parts) {
    return hn::GetLane(
        hn::SumOfLanes(d, hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3]))));
  };
  stats.sum += total(all.x);
  stats.sum_squares += total(all.squares);
  stats.max_abs = std::max(stats.max_abs, hn::GetLane(hn::MaxOfLanes(d, all.most)));
  stats.min_abs = std::min(stats.min_abs, hn::GetLane(hn::MinOfLanes(d, all.least)));
  add_elements(stats, tensor, whole, tensor.count);
  return stats;
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#endif  // include guard of each target
