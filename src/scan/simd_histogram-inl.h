// The exact histogram of exponent bytes. Compiled once for each SIMD target.
//
// A window of 30 exponents above `base` maps a byte to a code 1..30; code 0 is "at or below base".
// Table lookups turn a code into one bit of four planes of eight, and the planes are counted bit
// position by bit position over all bytes (positional population count: Klarqvist, Mula & Lemire
// 2019, arXiv:1911.02696): a carry-save tree first, so that only every fourth vector (AVX3_DL) or
// every sixteenth has to be added to counters. Elements at or below the base, rare, are counted
// one by one. The window stays where it is from block to block as long as it fits.

#if defined(APLOMB_SCAN_SIMD_HISTOGRAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APLOMB_SCAN_SIMD_HISTOGRAM_INL_H_
#undef APLOMB_SCAN_SIMD_HISTOGRAM_INL_H_
#else
#define APLOMB_SCAN_SIMD_HISTOGRAM_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "scan/simd_bit_counts-inl.h"
#include "scan/simd_read-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

struct Extremes {
  int top = 0;     ///< largest exponent byte
  int bottom = 0;  ///< smallest
};

/// Lane by lane.
struct Range {
  VB most, least;
};

/// Whether all exponents lie within [low, high].
HWY_INLINE bool is_within(Range range, int low, int high) {
  const U8 d;
  const VB above = hn::SaturatedSub(range.most, hn::Set(d, static_cast<std::uint8_t>(high)));
  const VB below = hn::SaturatedSub(hn::Set(d, static_cast<std::uint8_t>(low)), range.least);
  return hn::AllTrue(d, hn::Eq(hn::Or(above, below), hn::Zero(d)));
}

HWY_INLINE Extremes extremes_of(Range range) {
  const U8 d;
  const hn::CappedTag<std::uint8_t, 16> d16;
  const std::size_t bytes = hn::Lanes(d);
  HWY_ALIGN std::uint8_t lanes[2 * HWY_MAX_BYTES];
  hn::Store(range.most, d, lanes);
  hn::Store(range.least, d, lanes + bytes);
  auto top = hn::Load(d16, lanes);
  auto bottom = hn::Load(d16, lanes + bytes);
  for (std::size_t i = 16; i < bytes; i += 16) {
    top = hn::Max(top, hn::Load(d16, lanes + i));
    bottom = hn::Min(bottom, hn::Load(d16, lanes + bytes + i));
  }
  hn::Store(top, d16, lanes);
  hn::Store(bottom, d16, lanes + bytes);
  Extremes found{lanes[0], lanes[bytes]};
  for (std::size_t i = 1; i < 16; ++i) {
    found.top = std::max<int>(found.top, lanes[i]);
    found.bottom = std::min<int>(found.bottom, lanes[bytes + i]);
  }
  return found;
}

/// The exponent histogram of many blocks of exponent bytes.
class Histogram {
 public:
  /// Blocks are whole multiples of this many elements.
  static HWY_INLINE std::size_t group() { return 4 * hn::Lanes(U8()); }

  HWY_INLINE explicit Histogram(std::array<std::uint64_t, 256>& bins) : bins_(bins) {}

  /// `count` exponents, none of them 255; `top` and `bottom` are their extremes.
  void add(const std::uint8_t* exponents, std::size_t count, int top, int bottom) {
    if (top == 0) {
      bins_[0] += count;
      return;
    }
    if (count <= k_few) return count_by_table(exponents, count);
    place_window(top, bottom);
    if (bottom <= base_) {
      if (count_at_or_below(exponents, count) > count / k_low_share) {
        return count_by_table(exponents, count);
      }
      count_low(exponents, count);
    }
    if (top > base_) count_codes(exponents, count);
  }

  /// The exponents that the window holds, and a block whose exponents all lie in it.
  int low() const { return base_ < 0 ? 256 : base_ + 1; }
  int high() const { return base_ < 0 ? 0 : std::min(base_ + k_window, 254); }
  /// The first exponent of the window's upper half.
  int high_half() const { return base_ + k_half + 1; }
  HWY_INLINE void add_regular(const std::uint8_t* exponents, std::size_t count, bool upper_half) {
    if (upper_half) {
      count_upper(exponents, count);
    } else {
      count_codes(exponents, count);
    }
  }

  /// Completes the bins.
  void finish() {
    count_window();
    if (!spare_used_) return;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin)
      bins_[bin] += spare_[0][bin] + spare_[1][bin] + spare_[2][bin];
  }

 private:
  static constexpr int k_window = 30;
  static constexpr int k_half = 15;  ///< codes of a pair of planes
  /// Up to this many elements counting one by one costs less than finish().
  static constexpr std::size_t k_few = 256;
  /// Binades left free above a block's top, so that the next blocks need not move the window. Few,
  /// so that most blocks of a normal distribution lie in its upper half: 13 binades below their
  /// top.
  static constexpr int k_headroom = 1;
  /// One by one costs as much as the table once this share lies below the window.
  static constexpr std::size_t k_low_share = 8;

  /// The bit of a plane that stands for each code of its half.
  HWY_ALIGN static constexpr std::uint8_t k_low_codes[16] = {0, 2, 4, 8, 16, 32, 64, 128};
  HWY_ALIGN static constexpr std::uint8_t k_high_codes[16] = {0, 0, 0, 0, 0,  0,  0,  0,
                                                              1, 2, 4, 8, 16, 32, 64, 128};

  /// Brings what the planes hold into the bins.
  void count_window() {
    if (base_ < 0) return;
    for (std::size_t plane = 0; plane < 4; ++plane) planes_[plane].finish(totals_ + 8 * plane);
    calls_ = 0;
    // Planes 0 and 1 hold codes 0..15, planes 2 and 3 codes 15 + (0..15).
    for (int code = 1; code <= k_window; ++code) {
      const int at = code <= 15 ? code : code + 1;
      if (base_ + code < 255) bins_[static_cast<std::size_t>(base_ + code)] += totals_[at];
    }
    std::fill(std::begin(totals_), std::end(totals_), 0);
  }

  /// Moves the window where the block's top does not fit, or its bottom does not but would.
  void place_window(int top, int bottom) {
    const int room = base_ + k_window - top;
    if (base_ >= 0 && room >= 0 && (bottom > base_ || base_ == 0 || room <= 2 * k_headroom)) return;
    count_window();
    base_ = top + k_headroom > k_window ? top + k_headroom - k_window : 0;
  }

  /// Codes 1..15 in `near`, codes 16..30 as 1..15 in `far`; 0 where there is none.
  struct Codes {
    VB near, far;
  };
  static HWY_INLINE Codes codes(const std::uint8_t* exponents, VB base) {
    const U8 d;
    const VB fifteen = hn::Set(d, 15);
    const VB code = hn::SaturatedSub(hn::Load(d, exponents), base);
    return {hn::IfThenElseZero(hn::Eq(hn::Min(code, fifteen), code), code),
            hn::SaturatedSub(code, fifteen)};
  }

  HWY_INLINE void count_codes(const std::uint8_t* exponents, std::size_t count) {
    const U8 d;
    const std::size_t lanes = hn::Lanes(d);
    const VB low = hn::LoadDup128(d, k_low_codes);
    const VB high = hn::LoadDup128(d, k_high_codes);
    const VB base = hn::Set(d, static_cast<std::uint8_t>(base_));
    BitCounts p0 = planes_[0], p1 = planes_[1], p2 = planes_[2], p3 = planes_[3];  // in registers
    for (std::size_t i = 0; i < count; i += 4 * lanes) {
      const Codes c0 = codes(exponents + i, base);
      const Codes c1 = codes(exponents + i + lanes, base);
      const Codes c2 = codes(exponents + i + 2 * lanes, base);
      const Codes c3 = codes(exponents + i + 3 * lanes, base);
      p0.add(hn::TableLookupBytes(low, c0.near), hn::TableLookupBytes(low, c1.near),
             hn::TableLookupBytes(low, c2.near), hn::TableLookupBytes(low, c3.near));
      p1.add(hn::TableLookupBytes(high, c0.near), hn::TableLookupBytes(high, c1.near),
             hn::TableLookupBytes(high, c2.near), hn::TableLookupBytes(high, c3.near));
      p2.add(hn::TableLookupBytes(low, c0.far), hn::TableLookupBytes(low, c1.far),
             hn::TableLookupBytes(low, c2.far), hn::TableLookupBytes(low, c3.far));
      p3.add(hn::TableLookupBytes(high, c0.far), hn::TableLookupBytes(high, c1.far),
             hn::TableLookupBytes(high, c2.far), hn::TableLookupBytes(high, c3.far));
      if (++calls_ < BitCounts::k_flush) continue;
      calls_ = 0;
      p0.flush(totals_);
      p1.flush(totals_ + 8);
      p2.flush(totals_ + 16);
      p3.flush(totals_ + 24);
    }
    planes_[0] = p0;
    planes_[1] = p1;
    planes_[2] = p2;
    planes_[3] = p3;
  }

  /// Exponents that all lie in the window's upper half: two planes instead of four.
  HWY_INLINE void count_upper(const std::uint8_t* exponents, std::size_t count) {
    const U8 d;
    const std::size_t lanes = hn::Lanes(d);
    const VB low = hn::LoadDup128(d, k_low_codes);
    const VB high = hn::LoadDup128(d, k_high_codes);
    const VB base = hn::Set(d, static_cast<std::uint8_t>(base_ + k_half));
    BitCounts p2 = planes_[2], p3 = planes_[3];  // in registers
    for (std::size_t i = 0; i < count; i += 4 * lanes) {
      const VB c0 = hn::Sub(hn::Load(d, exponents + i), base);
      const VB c1 = hn::Sub(hn::Load(d, exponents + i + lanes), base);
      const VB c2 = hn::Sub(hn::Load(d, exponents + i + 2 * lanes), base);
      const VB c3 = hn::Sub(hn::Load(d, exponents + i + 3 * lanes), base);
      p2.add(hn::TableLookupBytes(low, c0), hn::TableLookupBytes(low, c1),
             hn::TableLookupBytes(low, c2), hn::TableLookupBytes(low, c3));
      p3.add(hn::TableLookupBytes(high, c0), hn::TableLookupBytes(high, c1),
             hn::TableLookupBytes(high, c2), hn::TableLookupBytes(high, c3));
      if (++calls_ < BitCounts::k_flush) continue;
      calls_ = 0;
      planes_[0].flush(totals_);
      planes_[1].flush(totals_ + 8);
      p2.flush(totals_ + 16);
      p3.flush(totals_ + 24);
    }
    planes_[2] = p2;
    planes_[3] = p3;
  }

  std::size_t count_at_or_below(const std::uint8_t* exponents, std::size_t count) const {
    const U8 d;
    const VB limit = hn::Set(d, static_cast<std::uint8_t>(base_));
    std::size_t low = 0;
    for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
      const VB each = hn::Load(d, exponents + i);
      const auto nonzero_low =
          hn::AndNot(hn::Eq(each, hn::Zero(d)), hn::Eq(hn::Min(each, limit), each));
      low += hn::CountTrue(d, nonzero_low);
    }
    return low;
  }

  /// Zeros by the vector, other elements at or below the base one by one.
  void count_low(const std::uint8_t* exponents, std::size_t count) {
    const U8 d;
    const std::size_t lanes = hn::Lanes(d);
    const VB limit = hn::Set(d, static_cast<std::uint8_t>(base_));
    for (std::size_t i = 0; i < count; i += lanes) {
      const VB each = hn::Load(d, exponents + i);
      const auto zero = hn::Eq(each, hn::Zero(d));
      bins_[0] += hn::CountTrue(d, zero);
      if (hn::AllFalse(d, hn::AndNot(zero, hn::Eq(hn::Min(each, limit), each)))) continue;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::uint8_t exponent = exponents[i + lane];
        if (exponent != 0 && exponent <= base_) ++bins_[exponent];
      }
    }
  }

  /// In turn into four tables: no store waits for the one before it.
  void count_by_table(const std::uint8_t* exponents, std::size_t count) {
    if (!spare_used_) {
      for (auto& table : spare_) std::fill(std::begin(table), std::end(table), 0);
      spare_used_ = true;
    }
    for (std::size_t i = 0; i < count; i += 4) {
      ++bins_[exponents[i]];
      ++spare_[0][exponents[i + 1]];
      ++spare_[1][exponents[i + 2]];
      ++spare_[2][exponents[i + 3]];
    }
  }

  std::array<std::uint64_t, 256>& bins_;
  BitCounts planes_[4];
  std::uint64_t totals_[32] = {};  ///< of each plane's eight bits
  int calls_ = 0;                  ///< of each plane's add() since the last flush
  int base_ = -1;
  bool spare_used_ = false;
  std::uint64_t spare_[3][256];  ///< of count_by_table; not set before it is used
};

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#endif  // include guard of each target
