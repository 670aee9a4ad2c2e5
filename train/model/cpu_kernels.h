#pragma once
/// The operations between matrix products on a CPU, with SIMD (Highway; the widest that the machine
/// has is taken at run time). Pointers and sizes only: what they mean, and the checks, are their
/// callers' (ops.cpp, cross_entropy.cpp). One thread; a caller splits the rows.
///
/// `Real` elements are fp32 or bf16; all arithmetic is fp32 and is rounded once (to nearest, even).
/// NaN and infinities come out as IEEE arithmetic on the formula would have them.

#include <cstddef>
#include <cstdint>

namespace aplomb::train::model {

/// A run of elements in one of two formats.
struct Real {
  void* data = nullptr;
  bool is_bf16 = false;
};

/// out = x * r * weight with r = 1 / sqrt(mean(x^2) + eps), which is kept for the way back.
struct RmsNormRows {
  Real x, out;                    ///< [rows, features]
  const float* weight = nullptr;  ///< [features]
  float* inverse = nullptr;       ///< [rows]
  std::size_t rows = 0, features = 0;
  float eps = 0;
};
void rms_norm_rows(const RmsNormRows& work);

/// dx of it, and with `d_weight` what the rows add to the weight's gradient.
struct RmsNormBackRows {
  Real x, d_out, dx;               ///< [rows, features]
  const float* weight = nullptr;   ///< [features]
  const float* inverse = nullptr;  ///< [rows]
  float* d_weight = nullptr;       ///< [features] or null: added to
  std::size_t rows = 0, features = 0;
};
void rms_norm_back_rows(const RmsNormBackRows& work);

/// out = x * gain + bias, column by column; all of one format.
struct ScaleColumnsRows {
  Real x, out;                  ///< [rows, features]
  const float* gain = nullptr;  ///< [features]
  const float* bias = nullptr;  ///< [features] or null
  std::size_t rows = 0, features = 0;
};
void scale_columns_rows(const ScaleColumnsRows& work);

/// Its gradients: dx, and what the rows add to the gain's.
struct ScaleColumnsBackRows {
  Real x, d_out, dx;            ///< [rows, features]
  const float* gain = nullptr;  ///< [features]
  float* d_gain = nullptr;      ///< [features], added to
  std::size_t rows = 0, features = 0;
};
void scale_columns_back_rows(const ScaleColumnsBackRows& work);

/// out = silu(gate) * up, element by element; all of one format.
void swiglu_run(Real gate, Real up, Real out, std::size_t count);
/// Its gradients.
void swiglu_back_run(Real gate, Real up, Real d_out, Real d_gate, Real d_up, std::size_t count);

/// Heads turned by their token's position (ops.h); `backward` turns them back, which is the
/// gradient.
struct RotateRows {
  Real x;    ///< [tokens, heads, dims], tokens `stride` elements apart
  Real out;  ///< [tokens, heads, dims], contiguous; same format
  const std::int64_t* positions = nullptr;     ///< [tokens]
  const float *cos = nullptr, *sin = nullptr;  ///< [positions, dims / 2]
  std::size_t tokens = 0, heads = 0, dims = 0, stride = 0;
  bool backward = false;
};
void rotate_rows(const RotateRows& work);

/// Logits become their gradient in place (cross_entropy.cpp has the formula).
struct SoftmaxLossRows {
  Real logits;                                ///< [rows, vocabulary]
  const std::int64_t* targets = nullptr;      ///< [rows], in [0, vocabulary)
  float *losses = nullptr, *log_z = nullptr;  ///< [rows]
  float* scratch = nullptr;                   ///< [vocabulary], used where the logits are bf16
  std::size_t rows = 0, vocabulary = 0;
  float z_loss = 0;
  bool with_gradient = false;  ///< false: logits stay as they are
};
void softmax_loss_rows(const SoftmaxLossRows& work);

}  // namespace aplomb::train::model
