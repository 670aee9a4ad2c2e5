#pragma once
/// The small operations between the matrix products, each one pass over its input. All compute in
/// fp32 whatever their inputs are, and round once.
///
/// Shape legend: B rows, T columns, H heads, D head size, F features.

#include <torch/types.h>

#include "train/model/rope.h"

namespace aplomb::train::model {

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension (arXiv 1910.07467): x [..., F],
/// weight [F] -> [..., F] in `out`.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps,
                       torch::Dtype out);

/// silu(gate) * up (arXiv 2002.05202), of equal shapes.
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);

/// Rotates every head by its position: x [B, T, H, D], positions [B, T] -> as x. Dimension i turns
/// with dimension i + D / 2, as in Hugging Face's weights.
torch::Tensor rotate(const torch::Tensor& x, const torch::Tensor& positions,
                     const RopeTable& table);

/// x [N, F] * gain [F] (+ bias [F]) in x's dtype; gain is fp32, bias may be undefined. Without
/// autograd: what it needs on the way back is scale_columns_backward().
torch::Tensor scale_columns(const torch::Tensor& x, const torch::Tensor& gain,
                            const torch::Tensor& bias);
struct ColumnScaleGradients {
  torch::Tensor x;     ///< [N, F], as x
  torch::Tensor gain;  ///< [F], fp32
};
ColumnScaleGradients scale_columns_backward(const torch::Tensor& d_out, const torch::Tensor& x,
                                            const torch::Tensor& gain);

}  // namespace aplomb::train::model
