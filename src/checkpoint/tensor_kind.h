#pragma once
/// What a tensor is for, told from its name and shape, whatever library named it: the unit in which
/// frozen or lost weights are counted.

#include <cstdint>
#include <string>
#include <string_view>

#include "tensors/tensor.h"

namespace aplomb::checkpoint {

enum class TensorKind : std::uint8_t {
  norm,  ///< weights of RMSNorm, LayerNorm, BatchNorm, GroupNorm
  bias,
  embedding,  ///< token and position embeddings
  attention,
  mlp,     ///< feed-forward weights and experts
  router,  ///< a mixture's gate
  conv,
  lora_a,  ///< random at first
  lora_b,  ///< zero at first
  head,    ///< lm_head, classifier, score
  buffer,  ///< integers and running statistics: no gradient moves them
  other,
  count_,  // keep last
};

/// `norm weights`, `LoRA B` ...
std::string_view name(TensorKind kind);

TensorKind kind_of(const tensors::Tensor& tensor);

/// The layer's number in the name: `model.layers.11.mlp.up_proj.weight` -> 11; -1 where it has
/// none.
int layer_of(std::string_view tensor_name);

/// How the parameters of a model are usually created: embeddings, layers by number, final norm,
/// head; inside a layer attention before the feed-forward part before norms of Llama's kind. Lesser
/// comes first. A guess, for files that have lost the order.
std::string model_order_key(std::string_view tensor_name);

}  // namespace aplomb::checkpoint
