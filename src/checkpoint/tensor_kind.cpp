#include "checkpoint/tensor_kind.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool has_part(const std::vector<std::string_view>& parts,
              std::initializer_list<std::string_view> words) {
  for (const std::string_view part : parts) {
    for (const std::string_view word : words) {
      if (part == word) return true;
    }
  }
  return false;
}

/// Norms are vectors whose module says so; `ln_1`, `norm2`, `input_layernorm`, `bn1`, `RMSNorm_0`.
bool is_norm(std::string_view name, const std::vector<std::string_view>& parts) {
  if (has_any(name, {"norm"})) return true;
  if (has_part(parts, {"ln", "ln_1", "ln_2", "ln_f", "ln1", "ln2", "ln_pre", "ln_post", "ln_final",
                       "bn", "bn1", "bn2", "bn3", "gn"})) {
    return true;
  }
  return false;
}

int rank_in_layer(std::string_view name) {
  // The order of attributes in the usual modelling code (Llama, Qwen, Mistral, GPT-2, BERT).
  constexpr std::array<std::string_view, 30> k_order = {"ln_1",
                                                        "ln1",
                                                        "norm1",
                                                        "self_attn.q_proj",
                                                        "self_attn.k_proj",
                                                        "self_attn.v_proj",
                                                        "self_attn.o_proj",
                                                        "q_norm",
                                                        "k_norm",
                                                        "self_attn",
                                                        "attn.c_attn",
                                                        "attn.c_proj",
                                                        "attn",
                                                        "attention.self.query",
                                                        "attention.self.key",
                                                        "attention.self.value",
                                                        "attention",
                                                        "ln_2",
                                                        "ln2",
                                                        "norm2",
                                                        "gate_proj",
                                                        "up_proj",
                                                        "down_proj",
                                                        "mlp.c_fc",
                                                        "mlp.c_proj",
                                                        "mlp",
                                                        "intermediate",
                                                        "output",
                                                        "input_layernorm",
                                                        "post_attention_layernorm"};
  for (std::size_t i = 0; i < k_order.size(); ++i) {
    if (name.find(k_order[i]) != std::string_view::npos) return static_cast<int>(i);
  }
  return static_cast<int>(k_order.size());
}

}  // namespace

std::string_view name(TensorKind kind) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(TensorKind::count_)> k_names = {
      "norm weights", "biases", "embeddings", "attention", "mlp",     "routers",
      "convolutions", "LoRA A", "LoRA B",     "head",      "buffers", "other"};
  return k_names[static_cast<std::size_t>(kind)];
}

TensorKind kind_of(const tensors::Tensor& tensor) {
  const std::string name = core::lower(tensor.name);
  const std::vector<std::string_view> parts = split(name);
  const bool floating = tensor.type != nullptr && tensor.type->is_float;
  if (!floating || has_part(parts, {"running_mean", "running_var", "num_batches_tracked",
                                    "inv_freq", "masked_bias", "position_ids"})) {
    return TensorKind::buffer;
  }
  if (has_any(name, {"lora_a", "lora_embedding_a"})) return TensorKind::lora_a;
  if (has_any(name, {"lora_b", "lora_embedding_b"})) return TensorKind::lora_b;
  // `in_proj_bias` of torch's MultiheadAttention, `bias_ih_l0` of its recurrent layers.
  if (parts.back() == "bias" || parts.back().ends_with("_bias") ||
      parts.back().starts_with("bias_")) {
    return has_any(name, {"relative_attention_bias"}) ? TensorKind::embedding : TensorKind::bias;
  }
  if (tensor.shape.size() <= 1 && is_norm(name, parts)) return TensorKind::norm;
  if (has_any(name, {"lm_head", "classifier", "score", "output_layer", "embed_out", "value_head",
                     "v_head"}) ||
      has_part(parts, {"head", "fc_out"})) {
    return TensorKind::head;
  }
  if (has_any(name, {"embed", "wte", "wpe", "relative_attention_bias"})) {
    return TensorKind::embedding;
  }
  if (has_any(name, {"router", "gate.weight", "gate.wg"})) return TensorKind::router;
  if (has_any(name,
              {"attn", "attention", "q_proj", "k_proj", "v_proj", "o_proj", "query", "qkv"})) {
    return TensorKind::attention;
  }
  if (has_any(name, {"mlp", "ffn", "feed_forward", "expert", "up_proj", "down_proj", "gate_proj",
                     "intermediate", "c_fc", "fc1", "fc2", "dense", "densereludense"})) {
    return TensorKind::mlp;
  }
  if (tensor.shape.size() >= 3) return TensorKind::conv;
  return TensorKind::other;
}

int layer_of(std::string_view tensor_name) {
  for (const std::string_view part : split(tensor_name)) {
    int number = 0;
    const char* end = part.data() + part.size();
    if (!part.empty() && std::from_chars(part.data(), end, number).ptr == end) return number;
  }
  return -1;
}

std::string model_order_key(std::string_view tensor_name) {
  const std::string name = core::lower(tensor_name);
  const int layer = layer_of(name);
  int part = 1;  // embeddings
  if (layer >= 0) {
    part = 2;
  } else if (has_any(name, {"embed", "wte", "wpe"})) {
    part = name.find("wpe") == std::string::npos ? 0 : 1;
  } else if (has_any(name, {"lm_head", "head", "score", "classifier"})) {
    part = 4;
  } else {
    part = 3;
  }
  // A module's weight is created before its bias.
  const int last = name.ends_with(".bias") ? 1 : 0;
  const std::size_t dot = name.rfind('.');
  return fmt::format("{}.{:06}.{:03}.{}.{}", part, layer + 1, rank_in_layer(name),
                     name.substr(0, dot), last);
}

}  // namespace aplomb::checkpoint
