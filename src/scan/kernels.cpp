// One file on purpose: Highway compiles it once for each target, and the kernel reads top to
// bottom.
//
// The scan of fp32, bf16 and fp16, once for each SIMD target.
//
// Elements are taken in blocks of k_block. A block is read twice: first from memory for the sums
// and the extremes of the magnitude (as integers: IEEE magnitudes order like their bits), then from
// the first-level cache for the histogram, while the next block is being prefetched, so that memory
// is never idle.
//
// Histogram: the 8-bit exponents of four vectors are packed into one vector of bytes, a window of
// 16 exponents that begins at `base` maps them to codes 0..15, a table lookup turns a code into one
// bit of two planes of eight, and a carry-save tree counts each bit position over all bytes
// (positional population count: Klarqvist, Mula & Lemire 2019, arXiv:1911.02696). Code 0 stands for
// "at or below base": these elements, rare, are counted one by one, zeros as such. The window stays
// where it is from block to block as long as it fits.
//
// A block with a NaN or an Inf goes through the plain loop of element.h.

#include "scan/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scan/element.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan_detail {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

TensorStats scan_any(TensorView tensor) { return scan_reference(tensor); }

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t k_block =
    4096;  // elements: 16 KiB as fp32, a third of the smallest common L1d

using F32 = hn::ScalableTag<float>;
using U32 = hn::ScalableTag<std::uint32_t>;
using U8 = hn::ScalableTag<std::uint8_t>;
using F64 = hn::ScalableTag<double>;
using HalfF32 = hn::Half<F32>;
using VF = hn::Vec<F32>;
using VU = hn::Vec<U32>;
using VB = hn::Vec<U8>;
using VD = hn::Vec<F64>;

/// Reads Lanes(F32) elements as fp32 bits.
struct ReadF32 {
  static constexpr std::size_t k_bytes = 4;
  static HWY_INLINE VU bits(const void* data, std::size_t at) {
    return hn::LoadU(U32(), static_cast<const std::uint32_t*>(data) + at);
  }
};
struct ReadBf16 {
  static constexpr std::size_t k_bytes = 2;
  static HWY_INLINE VU bits(const void* data, std::size_t at) {
    const hn::Rebind<std::uint16_t, U32> narrow;
    return hn::ShiftLeft<16>(
        hn::PromoteTo(U32(), hn::LoadU(narrow, static_cast<const std::uint16_t*>(data) + at)));
  }
};
struct ReadF16 {
  static constexpr std::size_t k_bytes = 2;
  static HWY_INLINE VU bits(const void* data, std::size_t at) {
    const auto* halves = static_cast<const std::uint16_t*>(data) + at;
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<hwy::float16_t, F32> narrow;
    return hn::BitCast(
        U32(),
        hn::PromoteTo(F32(), hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(halves))));
#else
    // Without F16C Highway's conversion takes Inf and NaN for numbers. The magnitude's bits, moved
    // into fp32's place, are the value times 2^-112, subnormals included; Inf and NaN get fp32's
    // highest exponent back.
    const U32 d;
    const hn::Rebind<std::uint16_t, U32> narrow;
    const VU half = hn::PromoteTo(d, hn::LoadU(narrow, halves));
    const VU magnitude = hn::And(half, hn::Set(d, 0x7FFFU));
    const VF value =
        hn::Mul(hn::BitCast(F32(), hn::ShiftLeft<13>(magnitude)), hn::Set(F32(), 0x1p112F));
    const VU special = hn::VecFromMask(d, hn::Gt(magnitude, hn::Set(d, 0x7BFFU)));
    const VU sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(d, 0x8000U)));
    return hn::Or(hn::Or(hn::BitCast(d, value), sign), hn::And(special, hn::Set(d, 0x7F800000U)));
#endif
  }
};

struct Extremes {
  std::uint32_t most = 0;   ///< largest magnitude, as bits
  std::uint32_t least = 0;  ///< smallest magnitude, as bits: 0 where there is a zero
};

/// Sums of a block in float64, kept over all blocks of a tensor.
struct Sums {
  // Written out: GCC compiles an implicit constructor without the target's instructions.
  HWY_INLINE Sums() { x0 = x1 = s0 = s1 = s2 = s3 = hn::Zero(F64()); }
  HWY_INLINE Sums(VD sum_a, VD sum_b, VD a, VD b, VD c, VD d)
      : x0(sum_a), x1(sum_b), s0(a), s1(b), s2(c), s3(d) {}
  VD x0, x1, s0, s1, s2, s3;
};

template <class Read>
HWY_INLINE Extremes add_sums(const void* data, std::size_t from, std::size_t count, Sums& sums) {
  const U32 du;
  const F64 dd;
  const HalfF32 half;
  const std::size_t lanes = hn::Lanes(du);
  const VU magnitude_mask = hn::Set(du, 0x7FFFFFFFU);
  VU most = hn::Zero(du);
  VU least = hn::Set(du, 0x7FFFFFFFU);
  VD x0 = sums.x0, x1 = sums.x1, s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    const VU a = Read::bits(data, from + i);
    const VU b = Read::bits(data, from + i + lanes);
    const VU am = hn::And(a, magnitude_mask);
    const VU bm = hn::And(b, magnitude_mask);
    most = hn::Max(most, hn::Max(am, bm));
    least = hn::Min(least, hn::Min(am, bm));
    const VF af = hn::BitCast(F32(), a);
    const VF bf = hn::BitCast(F32(), b);
    const VD a0 = hn::PromoteTo(dd, hn::LowerHalf(half, af));
    const VD a1 = hn::PromoteTo(dd, hn::UpperHalf(half, af));
    const VD b0 = hn::PromoteTo(dd, hn::LowerHalf(half, bf));
    const VD b1 = hn::PromoteTo(dd, hn::UpperHalf(half, bf));
    s0 = hn::MulAdd(a0, a0, s0);
    s1 = hn::MulAdd(a1, a1, s1);
    s2 = hn::MulAdd(b0, b0, s2);
    s3 = hn::MulAdd(b1, b1, s3);
    x0 = hn::Add(x0, hn::Add(a0, a1));
    x1 = hn::Add(x1, hn::Add(b0, b1));
  }
  sums = Sums(x0, x1, s0, s1, s2, s3);
  return {hn::GetLane(hn::MaxOfLanes(du, most)), hn::GetLane(hn::MinOfLanes(du, least))};
}

/// Counts bit positions over many vectors of bytes: a carry-save tree of weights 1, 2, 4, 8 and
/// byte counters for 16.
class BitCounts {
 public:
  HWY_INLINE BitCounts() {
    ones_ = twos_ = fours_ = eights_ = hn::Zero(U8());
    for (VB& each : counters_) each = hn::Zero(U8());
  }

  HWY_INLINE void add16(const VB (&in)[16]) {
    VB twos_a, twos_b, fours_a, fours_b, eights_a, eights_b, sixteens;
    carry(twos_a, ones_, in[0], in[1]);
    carry(twos_b, ones_, in[2], in[3]);
    carry(fours_a, twos_, twos_a, twos_b);
    carry(twos_a, ones_, in[4], in[5]);
    carry(twos_b, ones_, in[6], in[7]);
    carry(fours_b, twos_, twos_a, twos_b);
    carry(eights_a, fours_, fours_a, fours_b);
    carry(twos_a, ones_, in[8], in[9]);
    carry(twos_b, ones_, in[10], in[11]);
    carry(fours_a, twos_, twos_a, twos_b);
    carry(twos_a, ones_, in[12], in[13]);
    carry(twos_b, ones_, in[14], in[15]);
    carry(fours_b, twos_, twos_a, twos_b);
    carry(eights_b, fours_, fours_a, fours_b);
    carry(sixteens, eights_, eights_a, eights_b);
    count_bits(sixteens, counters_);
    if (++used_ == 255) flush_counters();
  }

  /// Adds the count of each of the eight bit positions to bins[0..7] and starts anew.
  void finish(std::uint64_t* bins) {
    flush_counters();
    const VB* planes[4] = {&ones_, &twos_, &fours_, &eights_};
    for (int weight = 0; weight < 4; ++weight) {
      VB counters[8];
      for (VB& each : counters) each = hn::Zero(U8());
      count_bits(*planes[weight], counters);
      for (int bit = 0; bit < 8; ++bit) totals_[bit] += sum(counters[bit]) << weight;
    }
    for (int bit = 0; bit < 8; ++bit) {
      bins[bit] += totals_[bit];
      totals_[bit] = 0;
    }
    ones_ = twos_ = fours_ = eights_ = hn::Zero(U8());
  }

 private:
  /// high, low <- the two bits of low + a + b, for every bit.
  static HWY_INLINE void carry(VB& high, VB& low, VB a, VB b) {
    const VB u = hn::Xor(low, a);
    high = hn::Or(hn::And(low, a), hn::And(u, b));
    low = hn::Xor(u, b);
  }
  static HWY_INLINE void count_bits(VB plane, VB* counters) {
    const U8 d;
    const VB one = hn::Set(d, 1);
    const hn::Repartition<std::uint16_t, U8> d16;
    for (int bit = 0; bit < 8; ++bit) {
      counters[bit] = hn::Add(counters[bit], hn::And(plane, one));
      plane = hn::BitCast(d, hn::ShiftRight<1>(hn::BitCast(d16, plane)));
    }
  }
  static std::uint64_t sum(VB counters) {
    const hn::Repartition<std::uint64_t, U8> d64;
    return hn::GetLane(hn::SumOfLanes(d64, hn::SumsOf8(counters)));
  }
  void flush_counters() {
    for (int bit = 0; bit < 8; ++bit) {
      totals_[bit] += sum(counters_[bit]) * 16;
      counters_[bit] = hn::Zero(U8());
    }
    used_ = 0;
  }

  VB ones_, twos_, fours_, eights_;
  VB counters_[8];
  std::uint64_t totals_[8] = {};
  int used_ = 0;
};

/// The exponent histogram of many blocks.
class Histogram {
 public:
  explicit Histogram(std::array<std::uint64_t, 256>& bins) : bins_(bins) {}

  struct Block {
    std::uint64_t zeros = 0;
    std::uint32_t least = 0;  ///< smallest non-zero magnitude, as bits; 0 where all are zero
  };
  /// One block without non-finite values.
  template <class Read>
  Block add(const void* data, std::size_t from, Extremes extremes, std::size_t prefetch_bytes) {
    const auto top = static_cast<int>(extremes.most >> 23U);
    std::uint64_t zeros = 0;
    std::uint32_t least = extremes.least;
    if (least == 0) zeros = count_zeros<Read>(data, from, least);
    const auto bottom = static_cast<int>(least >> 23U);
    place_window(top, zeros == k_block ? top : bottom);
    if (top > base_) count_codes<Read>(data, from, prefetch_bytes);
    bins_[0] += zeros;
    if (zeros < k_block && bottom <= base_) count_low<Read>(data, from);
    return {zeros, least};
  }

  void finish() {
    std::uint64_t codes[16] = {};
    low_.finish(codes);
    high_.finish(codes + 8);
    // Code 0 is everything at or below the base: counted one by one already.
    for (int code = 1; code < 16; ++code) {
      if (base_ + code < 255) bins_[static_cast<std::size_t>(base_ + code)] += codes[code];
    }
  }

 private:
  /// The window is (base, base + 15]. It moves only where the block's top does not fit, or its
  /// bottom would but does not.
  void place_window(int top, int bottom) {
    const bool fits = top <= base_ + 15 && (bottom > base_ || top - bottom >= 15 || base_ == 0);
    if (fits && base_ >= 0) return;
    if (base_ >= 0) finish();
    constexpr int k_headroom =
        2;  // blocks differ: leave room above, so that the next one need not move the window
    base_ = top - bottom < 15 - k_headroom ? top + k_headroom - 15 : top - 15;
    if (base_ < 0) base_ = 0;
  }

  template <class Read>
  HWY_INLINE VB codes(const void* data, std::size_t at, std::size_t lanes, VB base) {
    const U32 d;
    const VU b0 = hn::And(hn::ShiftRight<23>(Read::bits(data, at)), hn::Set(d, 0xFFU));
    const VU b1 = hn::And(hn::ShiftRight<15>(Read::bits(data, at + lanes)), hn::Set(d, 0xFF00U));
    const VU b2 =
        hn::And(hn::ShiftRight<7>(Read::bits(data, at + 2 * lanes)), hn::Set(d, 0xFF0000U));
    const VU b3 =
        hn::And(hn::ShiftLeft<1>(Read::bits(data, at + 3 * lanes)), hn::Set(d, 0xFF000000U));
    return hn::SaturatedSub(hn::BitCast(U8(), hn::Or(hn::Or(b0, b1), hn::Or(b2, b3))), base);
  }

  template <class Read>
  void count_codes(const void* data, std::size_t from, std::size_t prefetch_bytes) {
    const U8 d;
    const std::size_t lanes = hn::Lanes(U32());
    HWY_ALIGN static constexpr std::uint8_t k_low[16] = {0, 2, 4, 8, 16, 32, 64, 128,
                                                         0, 0, 0, 0, 0,  0,  0,  0};
    HWY_ALIGN static constexpr std::uint8_t k_high[16] = {0, 0, 0, 0, 0,  0,  0,  0,
                                                          1, 2, 4, 8, 16, 32, 64, 128};
    const VB low_table = hn::LoadDup128(d, k_low);
    const VB high_table = hn::LoadDup128(d, k_high);
    const VB base = hn::Set(d, static_cast<std::uint8_t>(base_));
    const auto* ahead = static_cast<const char*>(data) + (from + k_block) * Read::k_bytes;
    std::size_t fetched = 0;
    VB low[16];
    VB high[16];
    int held = 0;
    for (std::size_t i = 0; i < k_block; i += 4 * lanes) {
      for (; fetched < prefetch_bytes && fetched < (i + 4 * lanes) * Read::k_bytes; fetched += 64) {
        hwy::Prefetch(ahead + fetched);
      }
      const VB code = codes<Read>(data, from + i, lanes, base);
      low[held] = hn::TableLookupBytes(low_table, code);
      high[held] = hn::TableLookupBytes(high_table, code);
      if (++held == 16) {
        low_.add16(low);
        high_.add16(high);
        held = 0;
      }
    }
    if (held == 0) return;
    for (; held < 16; ++held) low[held] = high[held] = hn::Zero(d);
    low_.add16(low);
    high_.add16(high);
  }

  template <class Read>
  std::uint64_t count_zeros(const void* data, std::size_t from, std::uint32_t& least_nonzero) {
    const U32 d;
    const VU mask = hn::Set(d, 0x7FFFFFFFU);
    const VU one = hn::Set(d, 1);
    VU least = hn::Set(d, 0xFFFFFFFFU);
    std::uint64_t zeros = 0;
    for (std::size_t i = 0; i < k_block; i += hn::Lanes(d)) {
      const VU magnitude = hn::And(Read::bits(data, from + i), mask);
      zeros += hn::CountTrue(d, hn::Eq(magnitude, hn::Zero(d)));
      least = hn::Min(least, hn::Sub(magnitude, one));  // a zero becomes the largest number
    }
    least_nonzero = hn::GetLane(hn::MinOfLanes(d, least)) + 1;
    return zeros;
  }

  /// Non-zero elements at or below the base, one by one.
  template <class Read>
  void count_low(const void* data, std::size_t from) {
    const U32 d;
    const std::size_t lanes = hn::Lanes(d);
    const VU mask = hn::Set(d, 0x7FFFFFFFU);
    const VU one = hn::Set(d, 1);
    const VU bound = hn::Set(d, (static_cast<std::uint32_t>(base_ + 1) << 23U) - 1);
    HWY_ALIGN std::uint32_t magnitudes[HWY_MAX_BYTES / 4];
    for (std::size_t i = 0; i < k_block; i += lanes) {
      const VU magnitude = hn::And(Read::bits(data, from + i), mask);
      const auto is_low = hn::Lt(hn::Sub(magnitude, one), bound);
      if (hn::AllFalse(d, is_low)) continue;
      hn::Store(magnitude, d, magnitudes);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::uint32_t exponent = magnitudes[lane] >> 23U;
        if (magnitudes[lane] != 0 && static_cast<int>(exponent) <= base_) ++bins_[exponent];
      }
    }
  }

  std::array<std::uint64_t, 256>& bins_;
  BitCounts low_;
  BitCounts high_;
  int base_ = -1;
};

template <class Read>
TensorStats scan_blocks(TensorView tensor) {
  TensorStats stats;
  TensorStats odd;  // what went through the plain loop: blocks with non-finite values, and the tail
  Sums sums;
  Histogram histogram(stats.exponents);
  std::uint32_t most = 0;
  std::uint32_t least = 0x7F800000U;
  const std::uint64_t whole = tensor.count - tensor.count % k_block;
  for (std::uint64_t from = 0; from < whole; from += k_block) {
    const Sums before = sums;
    const Extremes extremes = add_sums<Read>(tensor.data, from, k_block, sums);
    if (extremes.most >= 0x7F800000U) {
      sums = before;
      add_elements(odd, tensor, from, from + k_block);
      continue;
    }
    const std::uint64_t left = std::min<std::uint64_t>(k_block, tensor.count - from - k_block);
    const auto block =
        histogram.template add<Read>(tensor.data, from, extremes, left * Read::k_bytes);
    stats.zeros += block.zeros;
    stats.count += k_block;
    most = std::max(most, extremes.most);
    if (block.least != 0) least = std::min(least, block.least);
  }
  histogram.finish();
  add_elements(odd, tensor, whole, tensor.count);
  const F64 dd;
  stats.sum = hn::GetLane(hn::SumOfLanes(dd, hn::Add(sums.x0, sums.x1)));
  stats.sum_squares = hn::GetLane(
      hn::SumOfLanes(dd, hn::Add(hn::Add(sums.s0, sums.s1), hn::Add(sums.s2, sums.s3))));
  stats.max_abs = static_cast<double>(std::bit_cast<float>(most));
  if (least != 0x7F800000U) stats.min_abs = static_cast<double>(std::bit_cast<float>(least));
  // Indices in `odd` count from the tensor's start already.
  const std::int64_t first = odd.first_nonfinite;
  odd.first_nonfinite = -1;
  stats.add(odd);
  stats.first_nonfinite = first;
  return stats;
}

TensorStats scan_any(TensorView tensor) {
  switch (tensor.type) {
    case ScalarType::bf16:
      return scan_blocks<ReadBf16>(tensor);
    case ScalarType::f16:
      return scan_blocks<ReadF16>(tensor);
    default:
      return scan_blocks<ReadF32>(tensor);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

std::string_view target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace aplomb::scan_detail {

HWY_EXPORT(scan_any);
HWY_EXPORT(target_name);

TensorStats scan_simd(TensorView tensor) { return HWY_DYNAMIC_DISPATCH(scan_any)(tensor); }
std::string_view simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace aplomb::scan_detail
#endif
