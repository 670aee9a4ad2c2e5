#include "train/model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace aplomb::train::model {
namespace {

using Json = nlohmann::json;

/// Keys of one JSON object, with the first thing that is wrong.
class Keys {
 public:
  Keys(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  /// Present and not null.
  const Json* find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }

  bool absent(const char* key) const { return !object_.contains(key); }

  std::int64_t size(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) {
      complain(fmt::format("`{}` is missing", key));
      return 1;
    }
    return positive(key, *value);
  }
  std::int64_t size(const char* key, std::int64_t otherwise) {
    const Json* value = find(key);
    return value == nullptr ? otherwise : positive(key, *value);
  }
  /// As above, but 0 is fine.
  std::int64_t size_or_none(const char* key, std::int64_t otherwise) {
    const Json* value = find(key);
    return value != nullptr && *value == 0 ? 0 : size(key, otherwise);
  }
  double number(const char* key, double otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) complain(fmt::format("`{}` is {}, not a number", key, value->dump()));
    return value->is_number() ? value->get<double>() : otherwise;
  }
  std::optional<double> maybe_number(const char* key) {
    return find(key) == nullptr ? std::nullopt : std::optional(number(key, 0));
  }
  bool flag(const char* key, bool otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean())
      complain(fmt::format("`{}` is {}, not true or false", key, value->dump()));
    return value->is_boolean() ? value->get<bool>() : otherwise;
  }
  std::string word(const char* key, const std::string& otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) complain(fmt::format("`{}` is {}, not a text", key, value->dump()));
    return value->is_string() ? value->get<std::string>() : otherwise;
  }

  void complain(const std::string& what, core::ErrorCode code = core::ErrorCode::bad_format) {
    if (!error_) error_ = core::Error{code, fmt::format("[model] {}: {}", path_, what)};
  }
  const std::optional<core::Error>& error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  std::int64_t positive(const char* key, const Json& value) {
    // Beyond any model: products of two such sizes still fit 64 bits.
    constexpr std::int64_t k_most = std::int64_t{1} << 30;
    if (!value.is_number_integer() || value.get<double>() < 1 || value.get<double>() > k_most) {
      complain(
          fmt::format("`{}` is {}, not a whole number from 1 to {}", key, value.dump(), k_most));
      return 1;
    }
    return value.get<std::int64_t>();
  }

  const Json& object_;
  std::string path_;
  std::optional<core::Error> error_;
};

/// What an architecture does that its config.json does not spell out.
struct Architecture {
  const char* name;
  const char* model_type;
  bool qkv_bias;       ///< always (Qwen2), or by `attention_bias`
  bool biases_by_key;  ///< `attention_bias`, for q, k, v and o
  bool mlp_bias_by_key;
  bool qk_norm;
  bool windows;  ///< `sliding_window` counts
  bool
      window_switch;  ///< ... only where `use_sliding_window` is true, from layer max_window_layers
  bool nope;          ///< `no_rope_layers`
};
constexpr std::array k_architectures = {
    Architecture{"LlamaForCausalLM", "llama", false, true, true, false, false, false, false},
    Architecture{"MistralForCausalLM", "mistral", false, false, false, false, true, false, false},
    Architecture{"Qwen2ForCausalLM", "qwen2", true, false, false, false, true, true, false},
    Architecture{"Qwen3ForCausalLM", "qwen3", false, true, false, true, true, true, false},
    Architecture{"SmolLM3ForCausalLM", "smollm3", false, true, true, false, true, true, true},
};

const Architecture* find_architecture(Keys& keys, ModelConfig& config) {
  const Json* names = keys.find("architectures");
  config.model_type = keys.word("model_type", "");
  const bool named =
      names != nullptr && names->is_array() && !names->empty() && names->front().is_string();
  config.architecture = named ? names->front().get<std::string>() : "";
  std::string known;
  for (const Architecture& each : k_architectures) {
    if (named ? config.architecture == each.name : config.model_type == each.model_type) {
      config.architecture = each.name;
      config.model_type = each.model_type;
      return &each;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  }
  const std::string what = named ? config.architecture : config.model_type;
  keys.complain(what.empty()
                    ? "neither `architectures` nor `model_type` says what the model is"
                    : fmt::format("architecture {} is not built here; known: {}", what, known),
                what.empty() ? core::ErrorCode::bad_format : core::ErrorCode::unsupported);
  return nullptr;
}

void read_rope_kind(Keys& outer, Keys& keys, ModelConfig& config) {
  using Kind = RopeScaling::Kind;
  RopeScaling& rope = config.rope;
  const std::string kind = keys.word("rope_type", keys.word("type", "default"));
  if (kind == "default") return;
  if (kind == "linear") {
    rope.kind = Kind::linear;
  } else if (kind == "dynamic") {
    rope.kind = Kind::dynamic;
  } else if (kind == "llama3") {
    rope.kind = Kind::llama3;
  } else if (kind == "yarn") {
    rope.kind = Kind::yarn;
  } else {
    outer.complain(
        fmt::format(
            "rope scaling `{}` is not built here; known: default, linear, dynamic, llama3, yarn",
            kind),
        core::ErrorCode::unsupported);
    return;
  }
  rope.original_max_positions = keys.size("original_max_position_embeddings", config.max_positions);
  const double stretched =
      static_cast<double>(config.max_positions) / static_cast<double>(rope.original_max_positions);
  if (keys.find("factor") == nullptr && rope.kind != Kind::yarn)
    keys.complain("`factor` of the rope scaling is missing");
  rope.factor = keys.number("factor", stretched);
  rope.low_freq_factor = keys.number("low_freq_factor", rope.low_freq_factor);
  rope.high_freq_factor = keys.number("high_freq_factor", rope.high_freq_factor);
  rope.beta_fast = keys.number("beta_fast", rope.beta_fast);
  rope.beta_slow = keys.number("beta_slow", rope.beta_slow);
  rope.truncate = keys.flag("truncate", true);
  rope.attention_factor = keys.maybe_number("attention_factor");
  rope.mscale = keys.maybe_number("mscale");
  rope.mscale_all_dim = keys.maybe_number("mscale_all_dim");
  if (!(rope.factor > 0))
    keys.complain(fmt::format("rope scaling factor {} is not positive", rope.factor));
  if (rope.kind == Kind::llama3 &&
      !(rope.high_freq_factor > rope.low_freq_factor && rope.low_freq_factor > 0)) {
    keys.complain(fmt::format("`high_freq_factor` {} is not above `low_freq_factor` {}",
                              rope.high_freq_factor, rope.low_freq_factor));
  }
}

/// transformers 5 writes `rope_parameters` with the base inside, before it `rope_theta` beside
/// `rope_scaling`.
void read_rope(Keys& keys, ModelConfig& config) {
  config.rope_theta = keys.number("rope_theta", config.rope_theta);
  const Json* scaling = keys.find("rope_parameters");
  if (scaling == nullptr) scaling = keys.find("rope_scaling");
  if (scaling == nullptr) return;
  if (!scaling->is_object()) {
    keys.complain("`rope_scaling` is not an object");
    return;
  }
  Keys inner(*scaling, keys.path());
  config.rope_theta = inner.number("rope_theta", config.rope_theta);
  if (inner.number("partial_rotary_factor", 1) != 1) {
    keys.complain("rotary embeddings over a part of a head are not built here",
                  core::ErrorCode::unsupported);
  }
  read_rope_kind(keys, inner, config);
  if (inner.error())
    keys.complain(inner.error()->text.substr(fmt::format("[model] {}: ", keys.path()).size()));
  if (!(config.rope_theta > 1))
    keys.complain(fmt::format("`rope_theta` {} is not above 1", config.rope_theta));
}

void read_rotating_layers(Keys& keys, const Architecture& kind, ModelConfig& config) {
  config.attention.rotates.assign(static_cast<std::size_t>(config.layers), true);
  if (!kind.nope) return;
  const Json* layers =
      keys.find("no_rope_layers");  // 1: this layer rotates, as transformers reads it
  if (layers != nullptr && layers->is_array() &&
      layers->size() == config.attention.rotates.size()) {
    for (std::size_t i = 0; i < config.attention.rotates.size(); ++i)
      config.attention.rotates[i] = (*layers)[i] == 1;
    return;
  }
  const std::int64_t every = keys.size("no_rope_layer_interval", 4);
  for (std::int64_t i = 0; i < config.layers; ++i)
    config.attention.rotates[static_cast<std::size_t>(i)] = (i + 1) % every != 0;
}

/// Which layers see only a window of keys: `layer_types` where the file has them, else by the rules
/// of the architecture (those of transformers' configuration classes). After read_rotating_layers.
void read_windows(Keys& keys, const Architecture& kind, ModelConfig& config) {
  config.attention.windows.assign(static_cast<std::size_t>(config.layers), 0);
  if (!kind.windows || (kind.window_switch && !keys.flag("use_sliding_window", false))) return;
  // null says that there is none; an absent key stands for the default, which SmolLM3 has not.
  const std::int64_t window =
      keys.size("sliding_window", keys.absent("sliding_window") && !kind.nope ? 4096 : 0);
  if (window == 0) return;
  const Json* types = keys.find("layer_types");
  const bool typed = kind.window_switch && types != nullptr && types->is_array() &&
                     types->size() == config.attention.windows.size();
  const std::int64_t from =
      kind.window_switch && !kind.nope ? keys.size_or_none("max_window_layers", 28) : 0;
  for (std::size_t i = 0; i < config.attention.windows.size(); ++i) {
    bool slides =
        static_cast<std::int64_t>(i) >= from && !(kind.nope && config.attention.rotates[i]);
    if (typed) slides = (*types)[i] == "sliding_attention";
    if (slides) config.attention.windows[i] = window;
  }
}

void read_special_ids(Keys& keys, ModelConfig& config) {
  const auto id = [&](const char* key) -> std::optional<std::int64_t> {
    const Json* value = keys.find(key);
    if (value == nullptr || !value->is_number_integer()) return std::nullopt;
    return value->get<std::int64_t>();
  };
  config.special.bos_id = id("bos_token_id");
  config.special.pad_id = id("pad_token_id");
  if (const auto eos = id("eos_token_id")) config.special.eos_ids.push_back(*eos);
  const Json* several = keys.find("eos_token_id");
  if (several == nullptr || !several->is_array()) return;
  for (const Json& each : *several) {
    if (each.is_number_integer()) config.special.eos_ids.push_back(each.get<std::int64_t>());
  }
}

void read_sizes(Keys& keys, ModelConfig& config) {
  config.vocab_size = keys.size("vocab_size");
  config.hidden_size = keys.size("hidden_size");
  config.intermediate_size = keys.size("intermediate_size");
  config.layers = keys.size("num_hidden_layers");
  config.attention.heads = keys.size("num_attention_heads");
  config.attention.kv_heads = keys.size("num_key_value_heads", config.attention.heads);
  config.attention.head_dim =
      keys.size("head_dim", config.hidden_size / std::max<std::int64_t>(1, config.attention.heads));
  config.max_positions = keys.size("max_position_embeddings", 2048);
  config.rms_norm_eps = keys.number("rms_norm_eps", config.rms_norm_eps);
  config.initializer_range = keys.number("initializer_range", config.initializer_range);
  constexpr std::int64_t k_most_layers = 10000;
  if (config.layers > k_most_layers)
    keys.complain(fmt::format("`num_hidden_layers` is {}", config.layers));
  if (config.attention.heads % config.attention.kv_heads != 0) {
    keys.complain(fmt::format("`num_attention_heads` {} is no multiple of `num_key_value_heads` {}",
                              config.attention.heads, config.attention.kv_heads));
  }
  if (config.attention.head_dim % 2 != 0)
    keys.complain(fmt::format("`head_dim` {} is odd", config.attention.head_dim));
  if (keys.find("head_dim") == nullptr && config.hidden_size % config.attention.heads != 0) {
    keys.complain(fmt::format("`hidden_size` {} is no multiple of `num_attention_heads` {}",
                              config.hidden_size, config.attention.heads));
  }
}

void read_all(Keys& keys, const Architecture& kind, ModelConfig& config) {
  read_sizes(keys, config);
  if (keys.error()) return;
  const std::string activation = keys.word("hidden_act", "silu");
  if (activation != "silu") {
    keys.complain(fmt::format("activation `{}` is not built here; known: silu", activation),
                  core::ErrorCode::unsupported);
  }
  // What transformers' own configuration classes assume where the key is absent: tied for none of
  // these but SmolLM3.
  config.tie_embeddings = keys.flag("tie_word_embeddings", kind.nope);
  const bool attention_bias = kind.biases_by_key && keys.flag("attention_bias", false);
  config.attention.qkv_bias = kind.qkv_bias || attention_bias;
  config.attention.output_bias = attention_bias;
  config.mlp_bias = kind.mlp_bias_by_key && keys.flag("mlp_bias", false);
  config.attention.qk_norm = kind.qk_norm;
  config.torch_dtype = keys.word("dtype", keys.word("torch_dtype", ""));
  read_rope(keys, config);
  read_rotating_layers(keys, kind, config);
  read_windows(keys, kind, config);
  read_special_ids(keys, config);
}

}  // namespace

std::int64_t parameter_count(const ModelConfig& config) {
  const std::int64_t query = config.attention.heads * config.attention.head_dim;
  const std::int64_t key = config.attention.kv_heads * config.attention.head_dim;
  std::int64_t layer = config.hidden_size * (2 * query + 2 * key) +
                       3 * config.hidden_size * config.intermediate_size;
  layer += 2 * config.hidden_size;
  if (config.attention.qkv_bias) layer += query + 2 * key;
  if (config.attention.output_bias) layer += config.hidden_size;
  if (config.mlp_bias) layer += 2 * config.intermediate_size + config.hidden_size;
  if (config.attention.qk_norm) layer += 2 * config.attention.head_dim;
  const std::int64_t embedding = config.vocab_size * config.hidden_size;
  return layer * config.layers + embedding * (config.tie_embeddings ? 1 : 2) + config.hidden_size;
}

core::Result<ModelConfig> parse_model_config(std::string_view json, const std::string& path) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[model] {}: no JSON object; the file is torn or no config.json", path));
  }
  ModelConfig config;
  config.text = json;
  Keys keys(parsed, path);
  const Architecture* kind = find_architecture(keys, config);
  if (kind != nullptr) read_all(keys, *kind, config);
  if (keys.error()) return tl::unexpected(*keys.error());
  return config;
}

namespace {

/// `org/name` that is no path here is likely a name on the Hub.
std::string hub_advice(const std::string& path) {
  const std::size_t slash = path.find('/');
  const bool one = slash != std::string::npos && path.find('/', slash + 1) == std::string::npos;
  if (!one || slash == 0 || slash + 1 == path.size() || path[0] == '.') return "";
  return fmt::format("; nothing is downloaded here: `hf download {} --local-dir FOLDER` gets it",
                     path);
}

}  // namespace

core::Result<ModelConfig> read_model_config(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, ignored)) file /= "config.json";
  if (!std::filesystem::exists(file, ignored)) {
    return core::fail(core::ErrorCode::not_found,
                      fmt::format("[model] {} does not exist; a model folder holds config.json and "
                                  "*.safetensors{}",
                                  file.string(), hub_advice(path)));
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream)
    return core::fail(core::ErrorCode::not_readable,
                      fmt::format("[model] {} cannot be read", file.string()));
  return parse_model_config(text, file.string());
}

}  // namespace aplomb::train::model
