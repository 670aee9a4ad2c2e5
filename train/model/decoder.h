#pragma once
/// The decoder of the Llama family: pre-norm layers of attention and a gated MLP. Parameters carry
/// Hugging Face's names (`layers.0.self_attn.q_proj.weight`).
///
/// Shape legend: B rows, T columns, F hidden size. Hidden states between layers are in the dtype of
/// the embeddings (fp32 while they train), matrix products in ModelOptions::compute.

#include <torch/types.h>

#include <map>
#include <memory>
#include <vector>

#include "train/model/linear.h"
#include "train/model/model_config.h"
#include "train/model/model_options.h"
#include "train/model/module.h"
#include "train/model/rope.h"

namespace aplomb::train::model {

/// What a forward pass hands to every layer.
struct LayerInput {
  torch::Tensor positions;  ///< [B, T] int64
  RopeTable rope;
  std::map<std::int64_t, torch::Tensor> masks;  ///< by window (attention_mask)
};

class RmsNorm : public Module {
 public:
  RmsNorm(std::int64_t features, double eps, const torch::TensorOptions& options);
  torch::Tensor forward(const torch::Tensor& x, torch::Dtype out) const;

  torch::Tensor weight;

 private:
  double eps_;
};

class SelfAttention : public Module {
 public:
  SelfAttention(const ModelConfig& config, std::size_t layer, const ModelOptions& options);
  torch::Tensor forward(const torch::Tensor& x, const LayerInput& input) const;
  void set_attention(Attention kind) { kind_ = kind; }

 private:
  std::shared_ptr<Linear> q_proj_, k_proj_, v_proj_, o_proj_;
  std::shared_ptr<RmsNorm> q_norm_, k_norm_;  ///< null without QK-norm
  std::int64_t head_dim_;
  std::int64_t window_;
  bool rotates_;
  Attention kind_;
  torch::Dtype compute_;
};

class Mlp : public Module {
 public:
  Mlp(const ModelConfig& config, const ModelOptions& options);
  torch::Tensor forward(const torch::Tensor& x) const;

 private:
  std::shared_ptr<Linear> gate_proj_, up_proj_, down_proj_;
  torch::Dtype compute_;
};

class DecoderLayer : public Module {
 public:
  DecoderLayer(const ModelConfig& config, std::size_t layer, const ModelOptions& options);
  torch::Tensor forward(const torch::Tensor& x, const LayerInput& input) const;
  void set_attention(Attention kind) { self_attn_->set_attention(kind); }

 private:
  std::shared_ptr<RmsNorm> input_layernorm_, post_attention_layernorm_;
  std::shared_ptr<SelfAttention> self_attn_;
  std::shared_ptr<Mlp> mlp_;
  torch::Dtype compute_;
};

class Embedding : public Module {
 public:
  Embedding(std::int64_t vocabulary, std::int64_t features, const torch::TensorOptions& options);
  torch::Tensor weight;  ///< [V, F]
};

/// Embeddings, layers and the last norm.
class DecoderStack : public Module {
 public:
  DecoderStack(const ModelConfig& config, const ModelOptions& options);
  /// ids [B, T] int64 -> [B, T, F] in the compute dtype.
  torch::Tensor forward(const torch::Tensor& ids, const LayerInput& input) const;
  /// Of all layers, from the next pass on.
  void set_attention(Attention kind);

  std::shared_ptr<Embedding> embed_tokens;

 private:
  torch::Tensor run_layer(const std::shared_ptr<DecoderLayer>& layer, const torch::Tensor& x,
                          const LayerInput& input) const;

  std::vector<std::shared_ptr<DecoderLayer>> layers_;
  std::shared_ptr<RmsNorm> norm_;
  bool checkpointing_;
  torch::Dtype compute_;
};

}  // namespace aplomb::train::model
