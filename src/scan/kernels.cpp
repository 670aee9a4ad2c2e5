// The scan of fp32, bf16, fp16 and fp8, once for each SIMD target; of fp64: simd_f64-inl.h.
//
// Elements are taken in blocks of k_block, small enough that the processor runs ahead into the next
// block's memory while it counts this one. The first pass over a block reads it from memory: every
// element goes to float64 for the sums, and its exponent byte into a buffer in the first-level
// cache. The second pass counts the buffer's bytes (simd_histogram-inl.h). A block is regular where
// no exponent reaches the largest or smallest so far, or leaves the histogram's window: nothing
// else is done for it. Other blocks are looked at again in the cache: exact extremes, zeros where
// there is an exponent 0, and elements replaced by 0 and counted apart where they are NaN or Inf.
//
// Precision: products of fp32 are exact in float64, and 32 float64 accumulators (AVX2 and up) share
// the elements, so the sum of squares of a chunk of scan_many (2^18 elements) has 2^13 roundings a
// lane: 9e-13 relative if all fell the same way, 1e-14 in practice.

#include "scan/kernels.h"
#include "scan/simd_targets.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scan/element.h"
#include "scan/simd_f64-inl.h"
#include "scan/simd_histogram-inl.h"
#include "scan/simd_read-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

TensorStats scan_any(TensorView tensor) { return scan_reference(tensor); }

#else

/// Elements of a block. Measured from 256 to 8192 with fp32 in memory: below 512 the cost of each
/// block shows, above it the memory idles during the second pass.
constexpr std::size_t k_block = 512;

/// Four float64 at a time on x86: converting fp32 to float64 runs at one such vector a cycle on
/// every AVX-512 processor, wider vectors at half of that.
using F64 = hn::CappedTag<double, 4>;
using VD = hn::Vec<F64>;

/// Sums in float64, kept over all blocks of a tensor.
struct Sums {
  // Written out: GCC compiles an implicit constructor without the target's instructions.
  HWY_INLINE Sums() {
    for (VD& each : x) each = hn::Zero(F64());
    for (VD& each : squares) each = hn::Zero(F64());
  }
  VD x[8];
  VD squares[8];
};

HWY_INLINE void add_vector(const std::uint32_t* bits, VD& x, VD& squares) {
  const hn::Rebind<float, F64> single;
  const VD value = hn::PromoteTo(F64(), hn::LoadU(single, reinterpret_cast<const float*>(bits)));
  squares = hn::MulAdd(value, value, squares);
  x = hn::Add(x, value);
}

/// The first pass over a block: `after` <- `sums` and the block. `count` is a multiple of the
/// histogram's group.
HWY_INLINE Range add_sums(const std::uint32_t* bits, std::size_t count, const Sums& sums,
                          Sums& after, std::uint8_t* exponents) {
  const U8 d8;
  const std::size_t bytes = hn::Lanes(d8);
  constexpr std::size_t k_lanes = hn::MaxLanes(F64());
  VB most = hn::Zero(d8);
  VB least = hn::Set(d8, 0xFF);
  VD x0 = sums.x[0], x1 = sums.x[1], x2 = sums.x[2], x3 = sums.x[3];
  VD x4 = sums.x[4], x5 = sums.x[5], x6 = sums.x[6], x7 = sums.x[7];
  VD s0 = sums.squares[0], s1 = sums.squares[1], s2 = sums.squares[2], s3 = sums.squares[3];
  VD s4 = sums.squares[4], s5 = sums.squares[5], s6 = sums.squares[6], s7 = sums.squares[7];
  for (std::size_t i = 0; i < count; i += bytes) {
    for (std::size_t k = i; k < i + bytes; k += 8 * k_lanes) {
      add_vector(bits + k, x0, s0);
      add_vector(bits + k + k_lanes, x1, s1);
      add_vector(bits + k + 2 * k_lanes, x2, s2);
      add_vector(bits + k + 3 * k_lanes, x3, s3);
      add_vector(bits + k + 4 * k_lanes, x4, s4);
      add_vector(bits + k + 5 * k_lanes, x5, s5);
      add_vector(bits + k + 6 * k_lanes, x6, s6);
      add_vector(bits + k + 7 * k_lanes, x7, s7);
    }
    const VB packed = exponents_of(bits + i);
    hn::Store(packed, d8, exponents + i);
    most = hn::Max(most, packed);
    least = hn::Min(least, packed);
  }
  after.x[0] = x0, after.x[1] = x1, after.x[2] = x2, after.x[3] = x3;
  after.x[4] = x4, after.x[5] = x5, after.x[6] = x6, after.x[7] = x7;
  after.squares[0] = s0, after.squares[1] = s1, after.squares[2] = s2, after.squares[3] = s3;
  after.squares[4] = s4, after.squares[5] = s5, after.squares[6] = s6, after.squares[7] = s7;
  return {most, least};
}

/// Largest magnitude, as bits.
HWY_INLINE std::uint32_t largest(const std::uint32_t* bits, std::size_t count) {
  const U32 d;
  const std::size_t lanes = hn::Lanes(d);
  const VU mask = hn::Set(d, 0x7FFFFFFFU);
  VU a = hn::Zero(d);
  VU b = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    a = hn::Max(a, hn::And(hn::LoadU(d, bits + i), mask));
    b = hn::Max(b, hn::And(hn::LoadU(d, bits + i + lanes), mask));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

struct Low {
  std::uint64_t zeros = 0;
  std::uint32_t least = 0;  ///< smallest non-zero magnitude, as bits; 0 where all are zero
};
HWY_INLINE Low smallest(const std::uint32_t* bits, std::size_t count) {
  const U32 d;
  const VU mask = hn::Set(d, 0x7FFFFFFFU);
  const VU one = hn::Set(d, 1);
  VU least = hn::Set(d, 0xFFFFFFFFU);
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const VU magnitude = hn::And(hn::LoadU(d, bits + i), mask);
    zeros += hn::CountTrue(d, hn::Eq(magnitude, hn::Zero(d)));
    least = hn::Min(least, hn::Sub(magnitude, one));  // a zero becomes the largest number
  }
  return {zeros, hn::GetLane(hn::MinOfLanes(d, least)) + 1};
}

/// Non-finite elements of a block, and the block with zeros in their place.
struct Nonfinite {
  std::uint64_t nan = 0;
  std::uint64_t inf = 0;
};
HWY_INLINE Nonfinite take_out_nonfinite(const std::uint32_t* bits, std::size_t count,
                                        std::uint32_t* finite) {
  const U32 d;
  const VU mask = hn::Set(d, 0x7FFFFFFFU);
  const VU infinity = hn::Set(d, 0x7F800000U);
  Nonfinite found;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const VU each = hn::LoadU(d, bits + i);
    const VU magnitude = hn::And(each, mask);
    const auto is_nan = hn::Gt(magnitude, infinity);
    const auto is_inf = hn::Eq(magnitude, infinity);
    found.nan += hn::CountTrue(d, is_nan);
    found.inf += hn::CountTrue(d, is_inf);
    hn::Store(hn::IfThenZeroElse(hn::Or(is_nan, is_inf), each), d, finite + i);
  }
  return found;
}

/// The statistics of blocks of fp32.
class Blocks {
 public:
  HWY_INLINE explicit Blocks(TensorStats& stats) : stats_(stats), histogram_(stats.exponents) {}

  /// `count` is at most k_block and a multiple of the histogram's group. False, and nothing added,
  /// where a NaN or an Inf stands in the block.
  HWY_INLINE bool add(const std::uint32_t* bits, std::size_t count) {
    HWY_ALIGN std::uint8_t exponents[k_block];
    const Range range = add_sums(bits, count, sums_[now_], sums_[1 - now_], exponents);
    if (is_within(range, regular_low_, regular_high_)) {
      const bool upper_half = is_within(range, histogram_.high_half(), 0xFF);
      histogram_.add_regular(exponents, count, upper_half);
    } else if (!add_irregular(bits, count, extremes_of(range), exponents)) {
      return false;
    }
    now_ = 1 - now_;
    stats_.count += count;
    return true;
  }

  /// A block that may hold anything.
  void add_any(const std::uint32_t* bits, std::size_t count) {
    if (add(bits, count)) return;
    HWY_ALIGN std::uint32_t finite[k_block];
    const Nonfinite found = take_out_nonfinite(bits, count, finite);
    add(finite, count);
    take_out_zeros(found.nan + found.inf);
    stats_.count += found.nan + found.inf;
    stats_.nan += found.nan;
    stats_.inf += found.inf;
  }

  /// Zeros that stood for something else.
  void take_out_zeros(std::uint64_t count) {
    stats_.count -= count;
    stats_.zeros -= count;
    stats_.exponents[0] -= count;
  }

  HWY_INLINE void finish() {
    histogram_.finish();
    const F64 d;
    Sums& sums = sums_[now_];
    for (int step = 4; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) {
        sums.x[i] = hn::Add(sums.x[i], sums.x[i + step]);
        sums.squares[i] = hn::Add(sums.squares[i], sums.squares[i + step]);
      }
    }
    stats_.sum = hn::GetLane(hn::SumOfLanes(d, sums.x[0]));
    stats_.sum_squares = hn::GetLane(hn::SumOfLanes(d, sums.squares[0]));
    stats_.max_abs = static_cast<double>(std::bit_cast<float>(most_));
    if (least_ != k_none) stats_.min_abs = static_cast<double>(std::bit_cast<float>(least_));
  }

 private:
  static constexpr std::uint32_t k_none = 0x7F800000U;  ///< above every finite magnitude

  bool add_irregular(const std::uint32_t* bits, std::size_t count, Extremes found,
                     const std::uint8_t* exponents) {
    if (found.top == 0xFF) return false;
    if (found.top >= exponent_of(most_)) most_ = std::max(most_, largest(bits, count));
    if (found.bottom == 0 || found.bottom <= exponent_of(least_)) {
      const Low low = smallest(bits, count);
      stats_.zeros += low.zeros;
      if (low.least != 0) least_ = std::min(least_, low.least);
    }
    histogram_.add(exponents, count, found.top, found.bottom);
    regular_low_ = std::min(std::max(histogram_.low(), exponent_of(least_) + 1), 0xFF);
    regular_high_ = std::max(std::min(histogram_.high(), exponent_of(most_) - 1), 0);
    return true;
  }
  static int exponent_of(std::uint32_t magnitude) { return static_cast<int>(magnitude >> 23U); }

  TensorStats& stats_;
  Histogram histogram_;
  Sums sums_[2];  ///< the one in use, and the one that the next block writes
  int now_ = 0;
  int regular_low_ = 1;  ///< exponents of a regular block: none before the first block
  int regular_high_ = 0;
  std::uint32_t most_ = 0;
  std::uint32_t least_ = k_none;
};

template <class Read>
TensorStats scan_blocks(TensorView tensor) {
  TensorStats stats;
  Blocks blocks(stats);
  HWY_ALIGN std::uint32_t buffer[k_block];
  const std::size_t group = Histogram::group();
  std::uint64_t from = 0;
  while (from < tensor.count) {
    const std::uint64_t left = std::min<std::uint64_t>(k_block, tensor.count - from);
    const std::uint64_t whole = left - left % group;
    const std::uint64_t taken = whole > 0 ? whole : left;
    if (whole > 0) {
      blocks.add_any(Read::block(tensor.data, from, whole, buffer), whole);
    } else {  // the last elements, padded with zeros
      HWY_ALIGN unsigned char padded[4 * HWY_MAX_BYTES * Read::k_bytes] = {};
      std::memcpy(padded, static_cast<const char*>(tensor.data) + from * Read::k_bytes,
                  left * Read::k_bytes);
      blocks.add_any(Read::block(padded, 0, group, buffer), group);
      blocks.take_out_zeros(group - left);
    }
    if (stats.first_nonfinite < 0 && stats.nan + stats.inf > 0) {
      TensorStats odd;
      add_elements(odd, tensor, from, from + taken);
      stats.first_nonfinite = odd.first_nonfinite;
    }
    from += taken;
  }
  blocks.finish();
  return stats;
}

TensorStats scan_any(TensorView tensor) {
  switch (tensor.type) {
    case ScalarType::bf16:
      return scan_blocks<ReadBf16>(tensor);
    case ScalarType::f16:
      return scan_blocks<ReadF16>(tensor);
    case ScalarType::f8_e4m3:
      return scan_blocks<ReadE4m3>(tensor);
    case ScalarType::f8_e5m2:
      return scan_blocks<ReadE5m2>(tensor);
    case ScalarType::f64:
      return scan_f64(tensor);
    default:
      return scan_blocks<ReadF32>(tensor);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

std::string_view target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace aplomb::scan {

HWY_EXPORT(scan_any);
HWY_EXPORT(target_name);

void settle_targets() {
  // The kernel of AVX3_DL uses GFNI, which Highway does not ask for.
#if HWY_ARCH_X86
  static const bool settled = [] {
    if (!__builtin_cpu_supports("gfni")) hwy::DisableTargets(HWY_AVX3_DL);
    return true;
  }();
  static_cast<void>(settled);
#endif
}

TensorStats scan_simd(TensorView tensor) {
  settle_targets();
  return HWY_DYNAMIC_DISPATCH(scan_any)(tensor);
}
std::string_view simd_target() {
  settle_targets();
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace aplomb::scan
#endif
