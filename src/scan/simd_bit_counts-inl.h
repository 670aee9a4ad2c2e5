// Counts the bits of each of the eight positions over many vectors of bytes (positional population
// count). Compiled once for each SIMD target.
//
// A carry-save tree first, so that only every fourth vector (AVX3_DL) or every sixteenth has to be
// added to counters.

#if defined(APLOMB_SCAN_SIMD_BIT_COUNTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APLOMB_SCAN_SIMD_BIT_COUNTS_INL_H_
#undef APLOMB_SCAN_SIMD_BIT_COUNTS_INL_H_
#else
#define APLOMB_SCAN_SIMD_BIT_COUNTS_INL_H_
#endif

#include <cstdint>

#include "scan/simd_read-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

/// high, low <- the two bits of low + a + b, for every bit.
HWY_INLINE void carry(VB& high, VB& low, VB a, VB b) {
#if HWY_TARGET <= HWY_AVX3
  const __m512i sum = _mm512_ternarylogic_epi64(low.raw, a.raw, b.raw, 0x96);  // a ^ b ^ c
  high = VB{_mm512_ternarylogic_epi64(low.raw, a.raw, b.raw, 0xE8)};           // majority
  low = VB{sum};
#else
  const VB u = hn::Xor(low, a);
  high = hn::Or(hn::And(low, a), hn::And(u, b));
  low = hn::Xor(u, b);
#endif
}

#if HWY_TARGET == HWY_AVX3_DL

/// Counts each of the eight bit positions over many vectors of bytes.
class BitCounts {
 public:
  /// Calls of add() after which flush() must be called: each adds at most 8 to a byte counter.
  static constexpr int k_flush = 31;

  HWY_INLINE BitCounts() { ones_ = twos_ = fours_ = hn::Zero(U8()); }

  HWY_INLINE void add(VB a, VB b, VB c, VB d) {
    VB twos_a, twos_b, fours;
    carry(twos_a, ones_, a, b);
    carry(twos_b, ones_, c, d);
    carry(fours, twos_, twos_a, twos_b);
    fours_ = hn::Add(fours_, positions(fours));
  }

  /// Adds what the counters hold to totals[0..7].
  HWY_INLINE void flush(std::uint64_t* totals) {
    add_totals(fours_, 2, totals);
    fours_ = hn::Zero(U8());
  }

  /// Adds everything to totals[0..7] and starts anew.
  HWY_INLINE void finish(std::uint64_t* totals) {
    flush(totals);
    add_totals(positions(ones_), 0, totals);
    add_totals(positions(twos_), 1, totals);
    ones_ = twos_ = hn::Zero(U8());
  }

 private:
  /// Of each quadword: byte i <- how many of its eight bytes have bit i set. GFNI multiplies the
  /// bit matrix by unit vectors, which transposes it. In assembler, because Highway's target does
  /// not name GFNI; scan_simd checks that the processor has it.
  static HWY_INLINE VB positions(VB plane) {
    const __m512i units = _mm512_set1_epi64(static_cast<std::int64_t>(0x8040201008040201U));
    __m512i columns;
    asm("vgf2p8affineqb $0, %2, %1, %0" : "=v"(columns) : "v"(units), "v"(plane.raw));
    return VB{_mm512_popcnt_epi8(columns)};
  }
  static HWY_INLINE void add_totals(VB counts, int weight, std::uint64_t* totals) {
    alignas(64) static constexpr std::uint8_t k_same_bit[64] = {
        0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
        50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
        37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63};
    const __m512i sorted = _mm512_permutexvar_epi8(_mm512_load_si512(k_same_bit), counts.raw);
    const __m512i sums = _mm512_sad_epu8(sorted, _mm512_setzero_si512());
    _mm512_storeu_si512(
        totals, _mm512_add_epi64(_mm512_loadu_si512(totals), _mm512_slli_epi64(sums, weight)));
  }

  VB ones_, twos_, fours_;
};

#else

class BitCounts {
 public:
  static constexpr int k_flush = 4 * 255;  // every fourth call adds at most 1 to a byte

  HWY_INLINE BitCounts() {
    ones_ = twos_ = fours_ = eights_ = hn::Zero(U8());
    for (VB& each : held_) each = hn::Zero(U8());
    for (VB& each : counters_) each = hn::Zero(U8());
  }

  HWY_INLINE void add(VB a, VB b, VB c, VB d) {
    VB twos_a, twos_b;
    carry(twos_a, ones_, a, b);
    carry(twos_b, ones_, c, d);
    carry(held_[holding_], twos_, twos_a, twos_b);
    if (++holding_ == 4) add_sixteens();
  }

  void flush(std::uint64_t* totals) {
    for (int bit = 0; bit < 8; ++bit) {
      totals[bit] += sum(counters_[bit]) * 16;
      counters_[bit] = hn::Zero(U8());
    }
  }

  void finish(std::uint64_t* totals) {
    for (int i = holding_; i < 4; ++i) held_[i] = hn::Zero(U8());
    add_sixteens();
    flush(totals);
    const VB* planes[4] = {&ones_, &twos_, &fours_, &eights_};
    for (int weight = 0; weight < 4; ++weight) {
      VB counters[8];
      for (VB& each : counters) each = hn::Zero(U8());
      count_bits(*planes[weight], counters);
      for (int bit = 0; bit < 8; ++bit) totals[bit] += sum(counters[bit]) << weight;
    }
    ones_ = twos_ = fours_ = eights_ = hn::Zero(U8());
  }

 private:
  HWY_INLINE void add_sixteens() {
    VB eights_a, eights_b, sixteens;
    carry(eights_a, fours_, held_[0], held_[1]);
    carry(eights_b, fours_, held_[2], held_[3]);
    carry(sixteens, eights_, eights_a, eights_b);
    count_bits(sixteens, counters_);
    holding_ = 0;
  }
  static HWY_INLINE void count_bits(VB plane, VB* counters) {
    const U8 d;
    const VB one = hn::Set(d, 1);
    for (int bit = 0; bit < 8; ++bit) {
      counters[bit] = hn::Add(counters[bit], hn::And(plane, one));
      plane = hn::BitCast(d, hn::ShiftRight<1>(hn::BitCast(U16(), plane)));
    }
  }
  static HWY_INLINE std::uint64_t sum(VB counters) {
    const hn::Repartition<std::uint64_t, U8> d64;
    return hn::GetLane(hn::SumOfLanes(d64, hn::SumsOf8(counters)));
  }

  VB ones_, twos_, fours_, eights_;
  VB held_[4];  ///< vectors of weight 4 that wait for their carry
  VB counters_[8];
  int holding_ = 0;
};

#endif  // HWY_TARGET == HWY_AVX3_DL

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#endif  // include guard of each target
