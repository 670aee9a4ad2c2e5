#pragma once
/// Rotary position embeddings (RoFormer, arXiv 2104.09864) and the ways to stretch them.
///
/// Shape legend: B rows, T columns, D head size, P positions.

#include <torch/types.h>

#include "train/model/model_config.h"

namespace aplomb::train::model {

/// How fast each pair of dimensions turns, and what cosine and sine are multiplied by.
struct RopeFrequencies {
  torch::Tensor inverse;  ///< [D / 2], fp32, CPU: radians a position
  double attention_factor = 1;
};

/// `length`: positions that are in use; matters for dynamic scaling alone, beyond max_positions.
/// Formulas: linear and dynamic NTK as in transformers' modeling_rope_utils; llama3: Llama 3.1's
/// reference code; yarn: arXiv 2309.00071, section 3.
RopeFrequencies rope_frequencies(const ModelConfig& config, std::int64_t length);

/// cos and sin of every position: [P, D / 2] each, fp32.
struct RopeTable {
  torch::Tensor cos, sin;
};

/// Makes tables and keeps the last one: training runs at few lengths.
class Rope {
 public:
  explicit Rope(const ModelConfig& config) : config_(config) {}
  /// For positions below `length`.
  const RopeTable& table(std::int64_t length, torch::Device device);

 private:
  ModelConfig config_;
  RopeTable table_;
  std::int64_t length_ = 0;
};

}  // namespace aplomb::train::model
