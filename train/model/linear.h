#pragma once
/// Linear: x W^T + b, alone or with a LoRA or DoRA adapter.
///
/// LoRA (arXiv 2106.09685):  y = x W^T + s drop(x) A^T B^T + b
/// DoRA (arXiv 2402.09353):  y = m / n * (x W^T + s drop(x) A^T B^T) + b,  n = || W + s B A ||, row
/// by row The norm n is detached from the gradient, as in the paper (section 4.3), and comes from
/// the rows' own norms, a cross term and an r x r Gram matrix; B A is never built:
///     n_o^2 = ||W_o||^2 + 2 s (W A^T)_o . B_o + s^2 B_o (A A^T) B_o^T
///
/// Shape legend: N tokens, I inputs, O outputs, r rank.

#include <torch/types.h>

#include <memory>
#include <vector>

#include "train/model/module.h"

namespace aplomb::train::model {

/// What is added to a Linear. All of it fp32, and all of it trains.
struct Adapter {
  torch::Tensor a;          ///< [r, I]
  torch::Tensor b;          ///< [O, r]
  torch::Tensor magnitude;  ///< [O]; undefined for LoRA
  double scaling = 1;       ///< alpha / r
  double dropout = 0;

  bool is_dora() const { return magnitude.defined(); }
};

class Linear : public Module {
 public:
  /// Weights are left uninitialised.
  Linear(std::int64_t inputs, std::int64_t outputs, bool bias, const torch::TensorOptions& options);

  torch::Tensor weight;  ///< [O, I], registered as `weight`
  torch::Tensor bias;    ///< [O] or undefined

  /// Adds an adapter that changes nothing yet: A as in nn.Linear (Kaiming uniform), B zero, and the
  /// magnitude the rows' norms. Registers `lora_A`, `lora_B` and `lora_magnitude`.
  void attach(std::int64_t rank, double scaling, double dropout, bool dora);
  const Adapter* adapter() const { return adapter_.get(); }

  /// [O], fp32, detached: || W + s B A || of every row.
  torch::Tensor adapted_row_norms() const;
  /// [O], fp32: ||W||^2 of every row, kept.
  const torch::Tensor& row_squares() const;
  /// [O, I], fp32, detached: the weight that alone does what weight and adapter do together.
  torch::Tensor merged_weight() const;
  /// Puts merged_weight() in the place of weight and adapter.
  void merge();

  /// The weight in another dtype: of a weight that trains through autograd, else a copy that is
  /// kept.
  torch::Tensor weight_as(torch::Dtype dtype) const;

 private:
  std::unique_ptr<Adapter> adapter_;
  mutable torch::Tensor copy_;         ///< of a frozen weight, in the compute dtype
  mutable torch::Tensor row_squares_;  ///< [O], fp32, of a frozen weight
};

/// y_i = linear_i(x) for layers that share their input, which costs one pass over it less for each:
/// x [..., I] of any dtype -> [..., O_i] in `compute`. With dropout the layers share its mask.
std::vector<torch::Tensor> apply_linears(const torch::Tensor& x,
                                         const std::vector<const Linear*>& linears,
                                         torch::Dtype compute);

}  // namespace aplomb::train::model
