#pragma once
/// Tensors as cpu_kernels.h wants them.

#include <torch/types.h>

#include <algorithm>

#include "train/model/cpu_kernels.h"

namespace aplomb::train::model {

inline bool is_real(torch::Dtype dtype) {
  return dtype == torch::kFloat32 || dtype == torch::kBFloat16;
}
/// Whether the kernels can work on it.
inline bool has_reals(const torch::Tensor& tensor) {
  return tensor.is_cpu() && is_real(tensor.scalar_type());
}

/// The tensor's storage from its `offset`-th element on.
inline Real reals(const torch::Tensor& tensor, std::int64_t offset) {
  const std::int64_t bytes = offset * static_cast<std::int64_t>(tensor.element_size());
  return {static_cast<char*>(tensor.data_ptr()) + bytes, tensor.scalar_type() == torch::kBFloat16};
}

/// Elements that are worth a thread of their own (ATen's own bound, at::internal::GRAIN_SIZE).
inline constexpr std::int64_t k_grain = 32768;
inline std::int64_t rows_a_thread(std::int64_t width) {
  return std::max<std::int64_t>(1, k_grain / width);
}

}  // namespace aplomb::train::model
