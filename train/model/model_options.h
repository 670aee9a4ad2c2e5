#pragma once
/// ModelOptions: in which number formats and by which kernels a model runs. What trains is always
/// kept in fp32, whatever stands here.

#include <torch/types.h>

#include <cstdint>

namespace aplomb::train::model {

enum class Attention {
  eager,  ///< softmax(q k^T) v step by step, the softmax in fp32
  sdpa,   ///< torch's scaled_dot_product_attention: flash or memory-efficient where the device has
          ///< it
};

struct ModelOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype base = torch::kFloat32;  ///< of weights that do not train
  /// Weights that the CPU needs as they are stored stay in the mapped file, in the place of a copy;
  /// what is written to them stays in this process. For runs that do not train them: the file must
  /// not shrink meanwhile.
  bool map_base = false;
  torch::Dtype compute = torch::kFloat32;  ///< of matrix products; norms, softmax and loss are fp32
  Attention attention = Attention::sdpa;
  bool gradient_checkpointing = false;  ///< keep only each layer's input; run it twice
  double z_loss = 0;  ///< weight of (log Z)^2 a token (PaLM, arXiv 2204.02311: 1e-4); 0: none
  /// How many tokens' logits are held at a time; 0: as many as fit 64 MiB in fp32, at least 16.
  std::int64_t loss_chunk = 0;
};

}  // namespace aplomb::train::model
