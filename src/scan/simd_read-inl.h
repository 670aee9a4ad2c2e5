// How the kernels see each element type: as a block of fp32 (order does not matter to them), and as
// the bytes of its exponents. Compiled once for each SIMD target (Highway's include guard).

#if defined(APLOMB_SCAN_SIMD_READ_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APLOMB_SCAN_SIMD_READ_INL_H_
#undef APLOMB_SCAN_SIMD_READ_INL_H_
#else
#define APLOMB_SCAN_SIMD_READ_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::ScalableTag<std::uint32_t>;
using U16 = hn::ScalableTag<std::uint16_t>;
using U8 = hn::ScalableTag<std::uint8_t>;
using VU = hn::Vec<U32>;
using VB = hn::Vec<U8>;

/// A reader gives the elements [from, from + count) of `data` as fp32 bits: in place, or in
/// `buffer`, which holds `count` of them. `count` is a multiple of Lanes(U8).
struct ReadF32 {
  static constexpr std::size_t k_bytes = 4;
  static HWY_INLINE const std::uint32_t* block(const void* data, std::size_t from, std::size_t,
                                               std::uint32_t*) {
    return static_cast<const std::uint32_t*>(data) + from;
  }
};

struct ReadBf16 {
  static constexpr std::size_t k_bytes = 2;
  /// Even elements before odd ones: a shift and a mask instead of shuffles.
  static HWY_INLINE const std::uint32_t* block(const void* data, std::size_t from,
                                               std::size_t count, std::uint32_t* buffer) {
    const U32 d;
    const U16 d16;
    const std::size_t lanes = hn::Lanes(d);
    const auto* words = static_cast<const std::uint16_t*>(data) + from;
    for (std::size_t i = 0; i < count; i += 2 * lanes) {
      const VU pairs = hn::BitCast(d, hn::LoadU(d16, words + i));
      hn::Store(hn::ShiftLeft<16>(pairs), d, buffer + i);
      hn::Store(hn::And(pairs, hn::Set(d, 0xFFFF0000U)), d, buffer + i + lanes);
    }
    return buffer;
  }
};

struct ReadF16 {
  static constexpr std::size_t k_bytes = 2;
  static HWY_INLINE const std::uint32_t* block(const void* data, std::size_t from,
                                               std::size_t count, std::uint32_t* buffer) {
    const U32 d;
    const auto* halves = static_cast<const std::uint16_t*>(data) + from;
    for (std::size_t i = 0; i < count; i += hn::Lanes(d))
      hn::Store(bits(halves + i), d, buffer + i);
    return buffer;
  }

 private:
  static HWY_INLINE VU bits(const std::uint16_t* halves) {
    const U32 d;
    const hn::Rebind<float, U32> df;
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<hwy::float16_t, U32> narrow;
    return hn::BitCast(
        d, hn::PromoteTo(df, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(halves))));
#else
    // Without F16C Highway's conversion takes Inf and NaN for numbers. The magnitude's bits, moved
    // into fp32's place, are the value times 2^-112, subnormals included; Inf and NaN get fp32's
    // highest exponent back.
    const hn::Rebind<std::uint16_t, U32> narrow;
    const VU half = hn::PromoteTo(d, hn::LoadU(narrow, halves));
    const VU magnitude = hn::And(half, hn::Set(d, 0x7FFFU));
    const auto value =
        hn::Mul(hn::BitCast(df, hn::ShiftLeft<13>(magnitude)), hn::Set(df, 0x1p112F));
    const VU special = hn::VecFromMask(d, hn::Gt(magnitude, hn::Set(d, 0x7BFFU)));
    const VU sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(d, 0x8000U)));
    return hn::Or(hn::Or(hn::BitCast(d, value), sign), hn::And(special, hn::Set(d, 0x7F800000U)));
#endif
  }
};

/// fp8: the magnitude's bits in fp32's place are the value times a power of two, subnormals
/// included; what is not finite gets fp32's highest exponent.
template <int shift, int scale_exponent, std::uint32_t largest_finite>
struct ReadFp8 {
  static constexpr std::size_t k_bytes = 1;
  static HWY_INLINE const std::uint32_t* block(const void* data, std::size_t from,
                                               std::size_t count, std::uint32_t* buffer) {
    const U32 d;
    const auto* bytes = static_cast<const std::uint8_t*>(data) + from;
    for (std::size_t i = 0; i < count; i += hn::Lanes(d)) hn::Store(bits(bytes + i), d, buffer + i);
    return buffer;
  }

 private:
  static HWY_INLINE VU bits(const std::uint8_t* bytes) {
    const U32 d;
    const hn::Rebind<float, U32> df;
    const hn::Rebind<std::uint8_t, U32> narrow;
    const VU code = hn::PromoteTo(d, hn::LoadU(narrow, bytes));
    const VU magnitude = hn::And(code, hn::Set(d, 0x7FU));
    // 2^(127 - bias) as fp32 bits: its exponent field is 254 - bias.
    const auto scale =
        hn::BitCast(df, hn::Set(d, static_cast<std::uint32_t>(scale_exponent) << 23U));
    const auto value = hn::Mul(hn::BitCast(df, hn::ShiftLeft<shift>(magnitude)), scale);
    const VU sign = hn::ShiftLeft<24>(hn::And(code, hn::Set(d, 0x80U)));
    const VU special = hn::VecFromMask(d, hn::Gt(magnitude, hn::Set(d, largest_finite)));
    return hn::Or(hn::Or(hn::BitCast(d, value), sign), hn::And(special, infinite(code)));
  }
  /// Of a code that is not finite: Inf for e5m2's 0x7C, NaN for all others.
  static HWY_INLINE VU infinite(VU code) {
    const U32 d;
    const VU mantissa = hn::And(code, hn::Set(d, 0x3U));
    return hn::Or(hn::Set(d, 0x7F800000U), hn::ShiftLeft<20>(mantissa));
  }
};
using ReadE4m3 = ReadFp8<20, 254 - 7, 0x7E>;
using ReadE5m2 = ReadFp8<21, 254 - 15, 0x7B>;

/// Biased exponents of Lanes(U8) elements, in any order, from their fp32 bits.
HWY_INLINE VB exponents_of(const std::uint32_t* bits) {
  const U32 d;
  const std::size_t lanes = hn::Lanes(d);
  const VU first = hn::LoadU(d, bits);
  const VU second = hn::LoadU(d, bits + lanes);
  const VU third = hn::LoadU(d, bits + 2 * lanes);
  const VU fourth = hn::LoadU(d, bits + 3 * lanes);
#if HWY_TARGET == HWY_AVX3_DL
  // VBMI takes any eight neighbouring bits of a quadword to any byte: bits 23..30 and 55..62.
  const __m512i places = _mm512_set1_epi64(0x3717371737173717);
  __m512i packed = _mm512_multishift_epi64_epi8(places, first.raw);
  packed = _mm512_mask_multishift_epi64_epi8(packed, 0x0C0C0C0C0C0C0C0C, places, second.raw);
  packed = _mm512_mask_multishift_epi64_epi8(packed, 0x3030303030303030, places, third.raw);
  packed = _mm512_mask_multishift_epi64_epi8(packed, 0xC0C0C0C0C0C0C0C0, places, fourth.raw);
  return VB{packed};
#else
  const VU b0 = hn::And(hn::ShiftRight<23>(first), hn::Set(d, 0xFFU));
  const VU b1 = hn::And(hn::ShiftRight<15>(second), hn::Set(d, 0xFF00U));
  const VU b2 = hn::And(hn::ShiftRight<7>(third), hn::Set(d, 0xFF0000U));
  const VU b3 = hn::And(hn::ShiftLeft<1>(fourth), hn::Set(d, 0xFF000000U));
  return hn::BitCast(U8(), hn::Or(hn::Or(b0, b1), hn::Or(b2, b3)));
#endif
}

#endif  // HWY_TARGET != HWY_SCALAR
}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#endif  // include guard of each target
