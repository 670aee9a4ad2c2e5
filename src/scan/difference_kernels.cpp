// The difference of two tensors of fp32, bf16 or fp16, once for each SIMD target.
//
// Pairs are taken in blocks of k_block, small enough that the processor reads ahead while it
// computes. The bits are turned into integers that grow with the value, 32 or 16 bits wide like the
// element, so that the distance in ULPs is one subtraction; values and their squares go through
// float64. A block with a NaN or an Inf goes through the plain loop of difference.cpp.

#include <algorithm>

#include "scan/kernels.h"
#include "scan/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/difference_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scan/simd_read-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::scan {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

Difference difference_any(TensorView before, TensorView after) {
  return difference_reference(before, after);
}

#else

/// Pairs of a block, a multiple of every vector's lanes.
constexpr std::size_t k_block = 512;

using F64 = hn::CappedTag<double, 4>;  // as in kernels.cpp
using VD = hn::Vec<F64>;
using U64 = hn::ScalableTag<std::uint64_t>;
using VQ = hn::Vec<U64>;

/// Sums over all regular blocks, and what else is kept.
struct Lanes {
  // Written out: GCC compiles an implicit constructor without the target's instructions.
  HWY_INLINE Lanes() {
    squares_a = squares_b = before_a = before_b = most_a = most_b = hn::Zero(F64());
    ulps = hn::Zero(U64());
  }
  VD squares_a, squares_b;  ///< of after - before
  VD before_a, before_b;
  VD most_a, most_b;  ///< |after - before|
  VQ ulps;
  std::uint64_t changed = 0;
  std::uint64_t max_ulps = 0;
};

HWY_INLINE void add_pair(const std::uint32_t* before, const std::uint32_t* after, VD& squares,
                         VD& before_squares, VD& most) {
  const hn::Rebind<float, F64> single;
  const VD was = hn::PromoteTo(F64(), hn::LoadU(single, reinterpret_cast<const float*>(before)));
  const VD is = hn::PromoteTo(F64(), hn::LoadU(single, reinterpret_cast<const float*>(after)));
  const VD delta = hn::Sub(is, was);
  squares = hn::MulAdd(delta, delta, squares);
  before_squares = hn::MulAdd(was, was, before_squares);
  most = hn::Max(most, hn::Abs(delta));
}

/// The values of a block, as fp32 in the same order on both sides.
HWY_INLINE void add_values(const std::uint32_t* before, const std::uint32_t* after, Lanes& lanes) {
  constexpr std::size_t k_lanes = hn::MaxLanes(F64());
  VD squares_a = lanes.squares_a, squares_b = lanes.squares_b;
  VD before_a = lanes.before_a, before_b = lanes.before_b;
  VD most_a = lanes.most_a, most_b = lanes.most_b;
  for (std::size_t i = 0; i < k_block; i += 2 * k_lanes) {
    add_pair(before + i, after + i, squares_a, before_a, most_a);
    add_pair(before + i + k_lanes, after + i + k_lanes, squares_b, before_b, most_b);
  }
  lanes.squares_a = squares_a, lanes.squares_b = squares_b;
  lanes.before_a = before_a, lanes.before_b = before_b;
  lanes.most_a = most_a, lanes.most_b = most_b;
}

/// Integers of 16 or 32 bits that grow with the value, as unsigned distances from the most negative
/// one: neighbours differ by 1, both zeros are equal.
template <class D>
HWY_INLINE hn::Vec<D> ordered(D d, hn::Vec<D> bits) {
  using T = hn::TFromD<D>;
  constexpr T k_sign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  const hn::RebindToSigned<D> ds;
  const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(ds, bits)));
  const auto magnitude = hn::AndNot(hn::Set(d, k_sign), bits);
  return hn::Add(hn::Sub(hn::Xor(magnitude, negative), negative), hn::Set(d, k_sign));
}

/// Sum of unsigned lanes as 64-bit lanes.
HWY_INLINE VQ widened_sum(hn::ScalableTag<std::uint32_t>, VU each) {
  const VQ pairs = hn::BitCast(U64(), each);
  return hn::Add(hn::And(pairs, hn::Set(U64(), 0xFFFFFFFFU)), hn::ShiftRight<32>(pairs));
}
HWY_INLINE VQ widened_sum(hn::ScalableTag<std::uint16_t>, hn::Vec<U16> each) {
  const U32 d;
  const VU pairs = hn::BitCast(d, each);
  return widened_sum(d, hn::Add(hn::And(pairs, hn::Set(d, 0xFFFFU)), hn::ShiftRight<16>(pairs)));
}

/// ULPs of a block. False where the largest magnitude on either side, as bits, reaches `infinity`:
/// nothing is added then.
template <class T>
HWY_INLINE bool add_ulps(const T* before, const T* after, T infinity, Lanes& lanes) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  const auto mask = hn::Set(d, static_cast<T>(~(T{1} << (8 * sizeof(T) - 1))));
  auto largest = zero;
  auto most = zero;
  auto unchanged = zero;
  VQ sum = lanes.ulps;
  for (std::size_t i = 0; i < k_block; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, before + i);
    const auto y = hn::LoadU(d, after + i);
    largest = hn::Max(largest, hn::Max(hn::And(x, mask), hn::And(y, mask)));
    const auto a = ordered(d, x);
    const auto b = ordered(d, y);
    const auto apart = hn::Sub(hn::Max(a, b), hn::Min(a, b));
    most = hn::Max(most, apart);
    unchanged = hn::Sub(unchanged, hn::VecFromMask(d, hn::Eq(apart, zero)));
    sum = hn::Add(sum, widened_sum(d, apart));
  }
  HWY_ALIGN T values[3 * (HWY_MAX_BYTES / sizeof(T))];
  const std::size_t count = hn::Lanes(d);
  hn::Store(largest, d, values);
  hn::Store(most, d, values + count);
  hn::Store(unchanged, d, values + 2 * count);
  T top = 0;
  T farthest = 0;
  std::uint64_t same = 0;
  for (std::size_t i = 0; i < count; ++i) {
    top = std::max(top, values[i]);
    farthest = std::max(farthest, values[count + i]);
    same += values[2 * count + i];
  }
  if (top >= infinity) return false;
  lanes.ulps = sum;
  lanes.max_ulps = std::max<std::uint64_t>(lanes.max_ulps, farthest);
  lanes.changed += k_block - same;
  return true;
}

HWY_INLINE Difference total_of(const Lanes& lanes) {
  const F64 d;
  Difference total;
  total.changed = lanes.changed;
  total.max_ulps = lanes.max_ulps;
  total.max_abs = hn::GetLane(hn::MaxOfLanes(d, hn::Max(lanes.most_a, lanes.most_b)));
  total.sum_squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(lanes.squares_a, lanes.squares_b)));
  total.before_squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(lanes.before_a, lanes.before_b)));
  total.sum_ulps = static_cast<double>(hn::GetLane(hn::SumOfLanes(U64(), lanes.ulps)));
  return total;
}

HWY_INLINE TensorView part_of(TensorView tensor, std::uint64_t from, std::uint64_t count) {
  return {static_cast<const char*>(tensor.data) + from * size_of(tensor.type), count, tensor.type};
}

template <class Read, class T>
Difference difference_blocks(TensorView before, TensorView after, T infinity) {
  HWY_ALIGN std::uint32_t buffer_a[k_block];
  HWY_ALIGN std::uint32_t buffer_b[k_block];
  Lanes lanes;
  Difference rest;
  const std::uint64_t whole = before.count - before.count % k_block;
  for (std::uint64_t from = 0; from < whole; from += k_block) {
    const bool finite = add_ulps<T>(static_cast<const T*>(before.data) + from,
                                    static_cast<const T*>(after.data) + from, infinity, lanes);
    if (finite) {
      add_values(Read::block(before.data, from, k_block, buffer_a),
                 Read::block(after.data, from, k_block, buffer_b), lanes);
    } else {
      rest.add(difference_reference(part_of(before, from, k_block), part_of(after, from, k_block)));
    }
  }
  const std::uint64_t left = before.count - whole;
  if (left > 0) {
    rest.add(difference_reference(part_of(before, whole, left), part_of(after, whole, left)));
  }
  rest.add(total_of(lanes));
  return rest;
}

Difference difference_any(TensorView before, TensorView after) {
  switch (before.type) {
    case ScalarType::bf16:
      return difference_blocks<ReadBf16, std::uint16_t>(before, after, 0x7F80);
    case ScalarType::f16:
      return difference_blocks<ReadF16, std::uint16_t>(before, after, 0x7C00);
    default:
      return difference_blocks<ReadF32, std::uint32_t>(before, after, 0x7F800000U);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace aplomb::scan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace aplomb::scan {

HWY_EXPORT(difference_any);

Difference difference_simd(TensorView before, TensorView after) {
  settle_targets();
  return HWY_DYNAMIC_DISPATCH(difference_any)(before, after);
}

}  // namespace aplomb::scan
#endif
