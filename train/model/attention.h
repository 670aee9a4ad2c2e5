#pragma once
/// Which tokens see which, and attention over them.
///
/// Shape legend: B rows, T columns, H query heads, K key and value heads (H is a multiple), D head
/// size.

#include <torch/types.h>

#include "train/model/model_options.h"

namespace aplomb::train::model {

/// [B or 1, 1, T, T] bool, true: this query (row) sees this key (column). Undefined where a token
/// sees every token before it, itself included, which needs no mask. `segments` [B, T] or
/// undefined (one document a row), `window` as in AttentionConfig::windows.
torch::Tensor attention_mask(const torch::Tensor& segments, std::int64_t columns,
                             std::int64_t window, torch::Device device);

/// softmax(q k^T / sqrt(D)) v: q [B, T, H, D], k and v [B, T, K, D] -> [B, T, H * D]. `mask` of
/// attention_mask().
torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                     const torch::Tensor& mask, Attention kind);

}  // namespace aplomb::train::model
