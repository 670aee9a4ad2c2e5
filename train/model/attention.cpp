#include "train/model/attention.h"

#include <cmath>
#include <limits>

namespace aplomb::train::model {
namespace {

using torch::Tensor;

/// q, k, v [B, H or K, T, D] -> [B, H, T, D].
Tensor attend_eagerly(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const std::int64_t rows = q.size(0), heads = q.size(1), columns = q.size(2), dims = q.size(3);
  const std::int64_t groups = k.size(1);
  const Tensor query =
      q.reshape({rows, groups, heads / groups * columns, dims});  // a group shares its keys
  Tensor scores = torch::matmul(query, k.transpose(2, 3)) / std::sqrt(static_cast<double>(dims));
  scores = scores.view({rows, heads, columns, columns}).to(torch::kFloat32);
  const Tensor seen =
      mask.defined()
          ? mask
          : torch::ones({columns, columns}, torch::TensorOptions(q.device()).dtype(torch::kBool))
                .tril();
  scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<float>::infinity());
  const Tensor weights = torch::softmax(scores, -1).to(q.scalar_type());
  return torch::matmul(weights.view({rows, groups, heads / groups * columns, columns}), v)
      .view({rows, heads, columns, dims});
}

}  // namespace

Tensor attention_mask(const Tensor& segments, std::int64_t columns, std::int64_t window,
                      torch::Device device) {
  const bool slides = window > 0 && window < columns;
  if (!segments.defined() && !slides) return {};
  Tensor seen =
      torch::ones({columns, columns}, torch::TensorOptions(device).dtype(torch::kBool)).tril();
  if (slides) seen = seen.triu(1 - window);
  seen = seen.unsqueeze(0).unsqueeze(0);
  if (segments.defined())
    seen = seen.logical_and((segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1));
  return seen;
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              Attention kind) {
  const Tensor query = q.transpose(1, 2), key = k.transpose(1, 2), value = v.transpose(1, 2);
  Tensor out;
  if (kind == Attention::eager) {
    out = attend_eagerly(query, key, value, mask);
  } else {
    const std::optional<Tensor> given = mask.defined() ? std::optional(mask) : std::nullopt;
    out = at::scaled_dot_product_attention(query, key, value, given, 0.0, !mask.defined(),
                                           std::nullopt, q.size(2) != k.size(2));
  }
  return out.transpose(1, 2).reshape({q.size(0), q.size(1), -1});
}

}  // namespace aplomb::train::model
