#pragma once
/// Between the project's own view of stored tensors and torch's.

#include <torch/torch.h>

#include <optional>

#include "checkpoint/tensor.h"

namespace aplomb::train {

/// The dtype that the stored elements have; nothing where torch has none that trains.
std::optional<torch::Dtype> torch_dtype(const aplomb::Tensor& stored);

/// safetensors' name of a dtype; null where it has none.
const char* safetensors_name(torch::Dtype dtype);

/// Copies the elements, cast to the target's dtype. Shapes must agree. False where they cannot be
/// read.
bool copy_stored(const aplomb::Tensor& stored, const torch::Tensor& target);

}  // namespace aplomb::train
