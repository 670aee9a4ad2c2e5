#pragma once
/// Linear layers with adapters over frozen weights that share their input, as one autograd function
/// (the formulas stand in linear.h).
///
/// What autograd would do in a dozen passes over [N, O] and [N, I] (scale, add, cast, sum of
/// gradients) happens inside the matrix products: `addmm` adds onto what is there. The products
/// with r rows are laid out so that N or O is their long contiguous side: A x^T and B^T dy^T, never
/// x A^T and dy B, which MKL computes at a half and a sixth of the speed. DoRA's norms need A W^T:
/// its r rows stand below those of x in the product with W, which is so read once.

#include <torch/types.h>

#include <vector>

namespace aplomb::train::model {

struct AdaptedLinear {
  torch::Tensor weight;     ///< [O, I], frozen, in the compute dtype
  torch::Tensor bias;       ///< [O], in the compute dtype, or undefined
  torch::Tensor a, b;       ///< [r, I], [O, r], fp32
  torch::Tensor magnitude;  ///< [O], fp32; undefined for LoRA
  torch::Tensor squares;    ///< [O], fp32: ||W||^2 of the rows; undefined for LoRA
  double scaling = 1;
};

/// [O], fp32: || W + s B A || of every row, of which `cross` is A W^T [r, O].
torch::Tensor adapted_row_norms(const torch::Tensor& cross, const torch::Tensor& a,
                                const torch::Tensor& b, const torch::Tensor& squares,
                                double scaling);

/// x [N, I] in the compute dtype -> [N, O_i] for every layer. `dropout` falls on what A sees, with
/// one mask for all layers. Gradients: of x, A, B and the magnitudes.
std::vector<torch::Tensor> apply_adapted(const torch::Tensor& x,
                                         const std::vector<AdaptedLinear>& layers, double dropout);

}  // namespace aplomb::train::model
