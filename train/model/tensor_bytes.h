#pragma once
/// Between the project's own view of stored tensors and torch's.

#include <torch/types.h>

#include <optional>

#include "tensors/tensor.h"

namespace aplomb::train::model {

/// The dtype that the stored elements have; nothing where torch has none that trains.
std::optional<torch::Dtype> torch_dtype(const aplomb::tensors::Tensor& stored);

/// safetensors' name of a dtype; null where it has none.
const char* safetensors_name(torch::Dtype dtype);

/// Copies the elements, cast to the target's dtype. Shapes must agree. False where they cannot be
/// read.
bool copy_stored(const aplomb::tensors::Tensor& stored, const torch::Tensor& target);

/// The stored elements in their place, to be read and written (a write stays in this process); the
/// tensor keeps the file open. Nothing where they do not lie in a file in one piece, in order, each
/// at a multiple of its size.
std::optional<torch::Tensor> stored_in_place(const aplomb::tensors::Tensor& stored);

}  // namespace aplomb::train::model
