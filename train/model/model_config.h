#pragma once
/// ModelConfig: the shape of a decoder of the Llama family, from Hugging Face's config.json.
///
///     Result<ModelConfig> config = read_model_config("meta-llama/Llama-3.2-1B");  // folder or file
///
/// Architectures: LlamaForCausalLM (Llama 2, 3, 3.x, SmolLM and SmolLM2), MistralForCausalLM,
/// Qwen2ForCausalLM (2 and 2.5), Qwen3ForCausalLM, SmolLM3ForCausalLM. What sets them apart is told
/// by fields, so that the decoder knows no names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::train::model {

/// How rotary embeddings are stretched beyond the length that the model was trained on.
/// Fields that a kind does not use keep their defaults.
struct RopeScaling {
  enum class Kind { none, linear, dynamic, llama3, yarn };
  Kind kind = Kind::none;
  double factor = 1;
  double low_freq_factor = 1;                    ///< llama3
  double high_freq_factor = 4;                   ///< llama3
  std::int64_t original_max_positions = 0;       ///< llama3, yarn
  double beta_fast = 32;                         ///< yarn
  double beta_slow = 1;                          ///< yarn
  bool truncate = true;                          ///< yarn: whole dimensions as bounds
  std::optional<double> attention_factor;        ///< yarn; else from the factor
  std::optional<double> mscale, mscale_all_dim;  ///< yarn
};

struct AttentionConfig {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< divides heads: grouped-query attention
  std::int64_t head_dim = 0;  ///< heads x head_dim need not be the hidden size
  bool qkv_bias = false;
  bool output_bias = false;  ///< of o_proj
  bool qk_norm = false;      ///< RMS norm of every head's query and key before the rotation (Qwen3)
  /// By layer: how many keys back a query sees, itself included; 0: all.
  std::vector<std::int64_t> windows;
  /// By layer: rotary embeddings at all (SmolLM3 leaves out every fourth).
  std::vector<bool> rotates;
};

struct SpecialTokens {
  std::optional<std::int64_t> bos_id, pad_id;
  std::vector<std::int64_t> eos_ids;
};

struct ModelConfig {
  std::string architecture;  ///< LlamaForCausalLM ...
  std::string model_type;    ///< llama ...
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t max_positions = 0;
  AttentionConfig attention;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  double rope_theta = 10000;
  RopeScaling rope;
  bool tie_embeddings = false;
  bool mlp_bias = false;
  std::string torch_dtype;  ///< of the stored weights as the file states it: bfloat16; or empty
  SpecialTokens special;
  /// The file itself: what a saved model repeats, keys that we do not read included.
  std::string text;
};

/// Parameters of the whole model, tied embeddings once.
std::int64_t parameter_count(const ModelConfig& config);

/// From the text of a config.json; `path` is named in errors.
/// Errors: bad_format (no JSON, a key missing or of the wrong type or without sense: the message
/// names it), unsupported (architecture, activation, rope scaling that are not built).
core::Result<ModelConfig> parse_model_config(std::string_view json, const std::string& path);
/// The file, or the config.json in a folder. Errors: not_found, not_readable, and as above.
core::Result<ModelConfig> read_model_config(const std::string& path);

}  // namespace aplomb::train::model
