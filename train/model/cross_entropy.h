#pragma once
/// Cross-entropy of the next token over a large vocabulary without the logits of all tokens: chunk
/// by chunk the logits are made, turned into their gradient in place, and multiplied back into the
/// gradient of the hidden states. Memory: one chunk of logits, one gradient as large as the hidden
/// states.
///
/// Shape legend: N tokens that count, F hidden size, V vocabulary.

#include <torch/types.h>

namespace aplomb::train::model {

struct CrossEntropy {
  torch::Tensor total;          ///< scalar, fp32, with its graph: sum of both
  torch::Tensor cross_entropy;  ///< scalar, fp32: sum over tokens of log Z - logit of the target
  torch::Tensor z;              ///< scalar, fp32: sum over tokens of (log Z)^2, not weighted
};

/// hidden [N, F] and weight [V, F] in one dtype (the softmax is fp32), targets [N] int64 in [0, V).
/// `z_loss`: weight of (log Z)^2; `chunk` tokens at a time, 0: by size (ModelOptions::loss_chunk).
CrossEntropy cross_entropy(const torch::Tensor& hidden, const torch::Tensor& weight,
                           const torch::Tensor& targets, double z_loss, std::int64_t chunk);

}  // namespace aplomb::train::model
