#include "train/model/decoder.h"

#include "train/model/attention.h"
#include "train/model/gradient_checkpointing.h"
#include "train/model/ops.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;

torch::TensorOptions base_options(const ModelOptions& options) {
  return torch::TensorOptions(options.device).dtype(options.base);
}

}  // namespace

RmsNorm::RmsNorm(std::int64_t features, double eps, const torch::TensorOptions& options)
    : eps_(eps) {
  weight = register_parameter("weight", torch::empty({features}, options), false);
}

Tensor RmsNorm::forward(const Tensor& x, torch::Dtype out) const {
  return rms_norm(x, weight, eps_, out);
}

SelfAttention::SelfAttention(const ModelConfig& config, std::size_t layer,
                             const ModelOptions& options)
    : head_dim_(config.attention.head_dim),
      window_(config.attention.windows[layer]),
      rotates_(config.attention.rotates[layer]),
      kind_(options.attention),
      compute_(options.compute) {
  const auto of = base_options(options);
  const std::int64_t query = config.attention.heads * config.attention.head_dim,
                     key = config.attention.kv_heads * config.attention.head_dim;
  q_proj_ = register_module(
      "q_proj", std::make_shared<Linear>(config.hidden_size, query, config.attention.qkv_bias, of));
  k_proj_ = register_module(
      "k_proj", std::make_shared<Linear>(config.hidden_size, key, config.attention.qkv_bias, of));
  v_proj_ = register_module(
      "v_proj", std::make_shared<Linear>(config.hidden_size, key, config.attention.qkv_bias, of));
  o_proj_ = register_module("o_proj", std::make_shared<Linear>(query, config.hidden_size,
                                                               config.attention.output_bias, of));
  if (!config.attention.qk_norm) return;
  q_norm_ =
      register_module("q_norm", std::make_shared<RmsNorm>(head_dim_, config.rms_norm_eps, of));
  k_norm_ =
      register_module("k_norm", std::make_shared<RmsNorm>(head_dim_, config.rms_norm_eps, of));
}

Tensor SelfAttention::forward(const Tensor& x, const LayerInput& input) const {
  std::vector<Tensor> heads =
      apply_linears(x, {q_proj_.get(), k_proj_.get(), v_proj_.get()}, compute_);
  for (Tensor& each : heads) each = each.view({x.size(0), x.size(1), -1, head_dim_});
  if (q_norm_ != nullptr) {
    heads[0] = q_norm_->forward(heads[0], compute_);
    heads[1] = k_norm_->forward(heads[1], compute_);
  }
  if (rotates_) {
    heads[0] = rotate(heads[0], input.positions, input.rope);
    heads[1] = rotate(heads[1], input.positions, input.rope);
  }
  const Tensor seen = attend(heads[0], heads[1], heads[2], input.masks.at(window_), kind_);
  return apply_linears(seen, {o_proj_.get()}, compute_).front();
}

Mlp::Mlp(const ModelConfig& config, const ModelOptions& options) : compute_(options.compute) {
  const auto of = base_options(options);
  const std::int64_t outer = config.hidden_size, inner = config.intermediate_size;
  gate_proj_ =
      register_module("gate_proj", std::make_shared<Linear>(outer, inner, config.mlp_bias, of));
  up_proj_ =
      register_module("up_proj", std::make_shared<Linear>(outer, inner, config.mlp_bias, of));
  down_proj_ =
      register_module("down_proj", std::make_shared<Linear>(inner, outer, config.mlp_bias, of));
}

Tensor Mlp::forward(const Tensor& x) const {
  const std::vector<Tensor> both = apply_linears(x, {gate_proj_.get(), up_proj_.get()}, compute_);
  return apply_linears(swiglu(both[0], both[1]), {down_proj_.get()}, compute_).front();
}

DecoderLayer::DecoderLayer(const ModelConfig& config, std::size_t layer,
                           const ModelOptions& options)
    : compute_(options.compute) {
  const auto norm = [&] {
    return std::make_shared<RmsNorm>(config.hidden_size, config.rms_norm_eps,
                                     base_options(options));
  };
  self_attn_ =
      register_module("self_attn", std::make_shared<SelfAttention>(config, layer, options));
  mlp_ = register_module("mlp", std::make_shared<Mlp>(config, options));
  input_layernorm_ = register_module("input_layernorm", norm());
  post_attention_layernorm_ = register_module("post_attention_layernorm", norm());
}

Tensor DecoderLayer::forward(const Tensor& x, const LayerInput& input) const {
  const Tensor attended = x + self_attn_->forward(input_layernorm_->forward(x, compute_), input);
  return attended + mlp_->forward(post_attention_layernorm_->forward(attended, compute_));
}

Embedding::Embedding(std::int64_t vocabulary, std::int64_t features,
                     const torch::TensorOptions& options) {
  weight = register_parameter("weight", torch::empty({vocabulary, features}, options), false);
}

DecoderStack::DecoderStack(const ModelConfig& config, const ModelOptions& options)
    : checkpointing_(options.gradient_checkpointing), compute_(options.compute) {
  const auto of = base_options(options);
  embed_tokens = register_module(
      "embed_tokens", std::make_shared<Embedding>(config.vocab_size, config.hidden_size, of));
  for (std::size_t i = 0; i < static_cast<std::size_t>(config.layers); ++i) {
    const std::string name = "layers." + std::to_string(i);
    layers_.push_back(register_module(name, std::make_shared<DecoderLayer>(config, i, options)));
  }
  norm_ = register_module("norm",
                          std::make_shared<RmsNorm>(config.hidden_size, config.rms_norm_eps, of));
}

Tensor DecoderStack::run_layer(const std::shared_ptr<DecoderLayer>& layer, const Tensor& x,
                               const LayerInput& input) const {
  if (!checkpointing_ || !is_training() || !at::GradMode::is_enabled())
    return layer->forward(x, input);
  std::vector<Tensor> trained;
  for (const Tensor& each : layer->parameters()) {
    if (each.requires_grad()) trained.push_back(each);
  }
  return run_checkpointed(
      [layer, input](const Tensor& again) { return layer->forward(again, input); }, x, trained);
}

Tensor DecoderStack::forward(const Tensor& ids, const LayerInput& input) const {
  Tensor x = torch::embedding(embed_tokens->weight, ids);
  for (const auto& layer : layers_) x = run_layer(layer, x, input);
  return norm_->forward(x, compute_);
}

void DecoderStack::set_attention(Attention kind) {
  for (const auto& layer : layers_) layer->set_attention(kind);
}

}  // namespace aplomb::train::model
