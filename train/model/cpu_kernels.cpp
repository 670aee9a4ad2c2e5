#include "train/model/cpu_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/model/cpu_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace aplomb::train::model {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Bf16 = std::uint16_t;  // as bits

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const Bf16* from) {
  const hn::Rebind<Bf16, D> narrow;
  const hn::RebindToUnsigned<D> wide;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, from))));
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}
/// To nearest, ties to even; a NaN stays one (adding to its bits could carry into the sign).
template <class D>
HWY_INLINE void store(D /*d*/, hn::Vec<D> value, Bf16* to) {
  const hn::Rebind<Bf16, D> narrow;
  const hn::RebindToUnsigned<D> wide;
  const hn::RebindToSigned<D> whole;
  const auto bits = hn::BitCast(wide, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(wide, 0x7FFF)), odd));
  const auto is_nan = hn::RebindMask(wide, hn::IsNaN(value));
  const auto picked = hn::IfThenElse(is_nan, hn::Set(wide, 0x7FC0), rounded);
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(whole, picked)), narrow, to);
}

/// body(d, i) for vectors of elements from i on, the last few one by one.
template <class Body>
HWY_INLINE void over(std::size_t count, Body body) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) body(one, i);
}

/// The sum of term(d, i), in two chains.
template <class Term>
HWY_INLINE float sum_over(std::size_t count, Term term) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Add(even, term(d, i));
    odd = hn::Add(odd, term(d, i + lanes));
  }
  for (; i + lanes <= count; i += lanes) even = hn::Add(even, term(d, i));
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) sum += hn::GetLane(term(one, i));
  return sum;
}

template <class X, class Y>
void rms_norm_of(const RmsNormRows& work, const X* x, Y* out) {
  const std::size_t features = work.features;
  for (std::size_t row = 0; row < work.rows; ++row, x += features, out += features) {
    const float squares = sum_over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto v = load(d, x + i);
      return hn::Mul(v, v);
    });
    const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(features) + work.eps);
    work.inverse[row] = inverse;
    over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto scaled = hn::Mul(load(d, x + i), hn::Set(d, inverse));
      store(d, hn::Mul(scaled, hn::LoadU(d, work.weight + i)), out + i);
    });
  }
}

/// With g = weight * d_out:  dx = r g - x r^3 mean(g x),  d_weight = sum over rows of d_out x r.
template <class X, class Y>
void rms_norm_back_of(const RmsNormBackRows& work, const X* x, const Y* d_out, X* dx) {
  const std::size_t features = work.features;
  for (std::size_t row = 0; row < work.rows;
       ++row, x += features, d_out += features, dx += features) {
    const float inverse = work.inverse[row];
    const float dot = sum_over(features, [&](auto d, std::size_t i) HWY_ATTR {
      return hn::Mul(hn::Mul(load(d, d_out + i), hn::LoadU(d, work.weight + i)), load(d, x + i));
    });
    const float pull = dot * inverse * inverse * inverse / static_cast<float>(features);
    over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto g = hn::Mul(load(d, d_out + i), hn::LoadU(d, work.weight + i));
      store(d, hn::NegMulAdd(load(d, x + i), hn::Set(d, pull), hn::Mul(g, hn::Set(d, inverse))),
            dx + i);
    });
    if (work.d_weight == nullptr) continue;
    over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto part = hn::Mul(hn::Mul(load(d, d_out + i), load(d, x + i)), hn::Set(d, inverse));
      hn::StoreU(hn::Add(hn::LoadU(d, work.d_weight + i), part), d, work.d_weight + i);
    });
  }
}

template <class T>
void scale_columns_of(const ScaleColumnsRows& work, const T* x, T* out) {
  const std::size_t features = work.features;
  for (std::size_t row = 0; row < work.rows; ++row, x += features, out += features) {
    over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto shift = work.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, work.bias + i);
      store(d, hn::MulAdd(load(d, x + i), hn::LoadU(d, work.gain + i), shift), out + i);
    });
  }
}

template <class T>
void scale_columns_back_of(const ScaleColumnsBackRows& work, const T* x, const T* d_out, T* dx) {
  const std::size_t features = work.features;
  for (std::size_t row = 0; row < work.rows;
       ++row, x += features, d_out += features, dx += features) {
    over(features, [&](auto d, std::size_t i) HWY_ATTR {
      const auto above = load(d, d_out + i);
      const auto sum = hn::MulAdd(above, load(d, x + i), hn::LoadU(d, work.d_gain + i));
      hn::StoreU(sum, d, work.d_gain + i);
      store(d, hn::Mul(above, hn::LoadU(d, work.gain + i)), dx + i);
    });
  }
}

/// 1 / (1 + exp(-x)); the bound keeps exp() finite, where the result is 0 in fp32 anyway.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 88.0F)))));
}

template <class T>
void swiglu_of(const T* gate, const T* up, T* out, std::size_t count) {
  over(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto g = load(d, gate + i);
    store(d, hn::Mul(hn::Mul(g, sigmoid(d, g)), load(d, up + i)), out + i);
  });
}

/// silu'(g) = s (1 + g (1 - s)) with s = sigmoid(g).
template <class T>
void swiglu_back_of(const T* gate, const T* up, const T* d_out, T* d_gate, T* d_up,
                    std::size_t count) {
  over(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto g = load(d, gate + i), upward = load(d, d_out + i);
    const auto s = sigmoid(d, g), one = hn::Set(d, 1.0F);
    const auto slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
    store(d, hn::Mul(hn::Mul(upward, load(d, up + i)), slope), d_gate + i);
    store(d, hn::Mul(upward, hn::Mul(g, s)), d_up + i);
  });
}

template <class T>
void rotate_of(const RotateRows& work, const T* x, T* out) {
  const std::size_t half = work.dims / 2;
  for (std::size_t token = 0; token < work.tokens; ++token, x += work.stride) {
    const float* cos = work.cos + static_cast<std::size_t>(work.positions[token]) * half;
    const float* sin = work.sin + static_cast<std::size_t>(work.positions[token]) * half;
    for (std::size_t head = 0; head < work.heads; ++head, out += work.dims) {
      const T* from = x + head * work.dims;
      over(half, [&](auto d, std::size_t i) HWY_ATTR {
        const auto first = load(d, from + i), second = load(d, from + half + i);
        const auto c = hn::LoadU(d, cos + i);
        const auto plain = hn::LoadU(d, sin + i);
        const auto s = work.backward ? hn::Neg(plain) : plain;
        store(d, hn::NegMulAdd(second, s, hn::Mul(first, c)), out + i);
        store(d, hn::MulAdd(first, s, hn::Mul(second, c)), out + half + i);
      });
    }
  }
}

/// The largest, or NaN if there is one (Max() would lose it, and so would Exp()). Not by v != v:
/// with AVX-512 Highway compares ordered, and no NaN is unequal to itself.
template <class T>
HWY_INLINE float max_of(const T* x, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto nan = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = load(d, x + i);
    most = hn::Max(most, v);
    nan = hn::Or(nan, hn::VecFromMask(d, hn::IsNaN(v)));
  }
  float max = hn::GetLane(hn::MaxOfLanes(d, most));
  bool any = !hn::AllFalse(d, hn::MaskFromVec(nan));
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) {
    const float v = hn::GetLane(load(one, x + i));
    any = any || std::isnan(v);
    max = std::max(max, v);
  }
  return any ? std::numeric_limits<float>::quiet_NaN() : max;
}

/// `exponentials`: where e^(logit - max) is kept between the passes; the logits themselves in fp32.
template <class T>
void softmax_loss_of(const SoftmaxLossRows& work, T* logits, float* exponentials,
                     std::size_t step) {
  const std::size_t count = work.vocabulary;
  for (std::size_t row = 0; row < work.rows; ++row, logits += count, exponentials += step) {
    const float max = max_of(logits, count);
    const auto target = static_cast<std::size_t>(work.targets[row]);
    const hn::CappedTag<float, 1> one;
    const float of_target = hn::GetLane(load(one, logits + target));
    const bool keep = work.with_gradient;
    const float sum = sum_over(count, [&](auto d, std::size_t i) HWY_ATTR {
      const auto e = hn::Exp(d, hn::Sub(load(d, logits + i), hn::Set(d, max)));
      if (keep) hn::StoreU(e, d, exponentials + i);
      return e;
    });
    const float log_z = max + std::log(sum);  // NaN where max is one
    work.log_z[row] = log_z;
    work.losses[row] = log_z - of_target;
    if (!keep) continue;
    const float scale = (1 + 2 * work.z_loss * log_z) / sum;
    const float at_target = exponentials[target] * scale - 1;
    over(count, [&](auto d, std::size_t i) HWY_ATTR {
      store(d, hn::Mul(hn::LoadU(d, exponentials + i), hn::Set(d, scale)), logits + i);
    });
    store(one, hn::Set(one, at_target), logits + target);
  }
}

float* f32(Real run) { return static_cast<float*>(run.data); }
Bf16* bf16(Real run) { return static_cast<Bf16*>(run.data); }

void rms_norm_any(const RmsNormRows& work) {
  if (work.x.is_bf16) {
    work.out.is_bf16 ? rms_norm_of(work, bf16(work.x), bf16(work.out))
                     : rms_norm_of(work, bf16(work.x), f32(work.out));
  } else {
    work.out.is_bf16 ? rms_norm_of(work, f32(work.x), bf16(work.out))
                     : rms_norm_of(work, f32(work.x), f32(work.out));
  }
}
void rms_norm_back_any(const RmsNormBackRows& work) {
  if (work.x.is_bf16) {
    work.d_out.is_bf16 ? rms_norm_back_of(work, bf16(work.x), bf16(work.d_out), bf16(work.dx))
                       : rms_norm_back_of(work, bf16(work.x), f32(work.d_out), bf16(work.dx));
  } else {
    work.d_out.is_bf16 ? rms_norm_back_of(work, f32(work.x), bf16(work.d_out), f32(work.dx))
                       : rms_norm_back_of(work, f32(work.x), f32(work.d_out), f32(work.dx));
  }
}
void scale_columns_any(const ScaleColumnsRows& work) {
  work.x.is_bf16 ? scale_columns_of(work, bf16(work.x), bf16(work.out))
                 : scale_columns_of(work, f32(work.x), f32(work.out));
}
void scale_columns_back_any(const ScaleColumnsBackRows& work) {
  work.x.is_bf16 ? scale_columns_back_of(work, bf16(work.x), bf16(work.d_out), bf16(work.dx))
                 : scale_columns_back_of(work, f32(work.x), f32(work.d_out), f32(work.dx));
}
void swiglu_any(Real gate, Real up, Real out, std::size_t count) {
  gate.is_bf16 ? swiglu_of(bf16(gate), bf16(up), bf16(out), count)
               : swiglu_of(f32(gate), f32(up), f32(out), count);
}
void swiglu_back_any(Real gate, Real up, Real d_out, Real d_gate, Real d_up, std::size_t count) {
  gate.is_bf16 ? swiglu_back_of(bf16(gate), bf16(up), bf16(d_out), bf16(d_gate), bf16(d_up), count)
               : swiglu_back_of(f32(gate), f32(up), f32(d_out), f32(d_gate), f32(d_up), count);
}
void rotate_any(const RotateRows& work) {
  work.x.is_bf16 ? rotate_of(work, bf16(work.x), bf16(work.out))
                 : rotate_of(work, f32(work.x), f32(work.out));
}
void softmax_loss_any(const SoftmaxLossRows& work) {
  work.logits.is_bf16 ? softmax_loss_of(work, bf16(work.logits), work.scratch, 0)
                      : softmax_loss_of(work, f32(work.logits), f32(work.logits), work.vocabulary);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace aplomb::train::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace aplomb::train::model {

HWY_EXPORT(rms_norm_any);
HWY_EXPORT(rms_norm_back_any);
HWY_EXPORT(scale_columns_any);
HWY_EXPORT(scale_columns_back_any);
HWY_EXPORT(swiglu_any);
HWY_EXPORT(swiglu_back_any);
HWY_EXPORT(rotate_any);
HWY_EXPORT(softmax_loss_any);

void rms_norm_rows(const RmsNormRows& work) { HWY_DYNAMIC_DISPATCH(rms_norm_any)(work); }
void rms_norm_back_rows(const RmsNormBackRows& work) {
  HWY_DYNAMIC_DISPATCH(rms_norm_back_any)(work);
}
void scale_columns_rows(const ScaleColumnsRows& work) {
  HWY_DYNAMIC_DISPATCH(scale_columns_any)(work);
}
void scale_columns_back_rows(const ScaleColumnsBackRows& work) {
  HWY_DYNAMIC_DISPATCH(scale_columns_back_any)(work);
}
void swiglu_run(Real gate, Real up, Real out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(swiglu_any)(gate, up, out, count);
}
void swiglu_back_run(Real gate, Real up, Real d_out, Real d_gate, Real d_up, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(swiglu_back_any)(gate, up, d_out, d_gate, d_up, count);
}
void rotate_rows(const RotateRows& work) { HWY_DYNAMIC_DISPATCH(rotate_any)(work); }
void softmax_loss_rows(const SoftmaxLossRows& work) {
  HWY_DYNAMIC_DISPATCH(softmax_loss_any)(work);
}

}  // namespace aplomb::train::model
#endif  // HWY_ONCE
