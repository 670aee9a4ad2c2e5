#include "plan/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/pair_table.h"
#include "core/text.h"
#include "knowledge/document.h"
#include "knowledge/named_model.h"
#include "knowledge/setting.h"

namespace aplomb::plan {
namespace {

using knowledge::Node;

/// Worst error found where an architecture that is not listed was taken as Llama-like
/// (docs/plan.md).
constexpr double k_generic_error = 0.30;

std::optional<Node> family_of(std::string_view type) {
  for (const Node& entry : knowledge::list_of(knowledge::file("plan.yaml"), "families")) {
    for (const std::string& each : knowledge::texts_of(entry, "types")) {
      if (each == type) return entry;
    }
  }
  return std::nullopt;
}

NormPlace norm_place(const std::string& word) {
  return word == "head" ? NormPlace::head : word == "all" ? NormPlace::all : NormPlace::none;
}

void take_family(ModelShape& shape, const Node& family) {
  shape.known_family = true;
  shape.error = knowledge::number_of(family, "error", k_generic_error);
  shape.rms_norm = knowledge::text_of(family, "norm", "rms") == "rms";
  const std::string positions = knowledge::text_of(family, "positions", "rotary");
  shape.attention.rotary = positions == "rotary";
  shape.positions = positions == "learned" ? 1 : 0;
  shape.mlp.gated = knowledge::truth_of(family, "gated", true);
  shape.attention.fused_qkv = knowledge::truth_of(family, "fused_qkv");
  shape.mlp.fused_gate_up = knowledge::truth_of(family, "fused_gate_up");
  shape.conv1d = shape.type == "gpt2";
  shape.tied = knowledge::truth_of(family, "tied");
  shape.capped = knowledge::truth_of(family, "capped");
  shape.attention.qkv_bias = knowledge::truth_of(family, "qkv_bias");
  shape.attention.out_bias = knowledge::truth_of(family, "out_bias");
  shape.mlp.bias = knowledge::truth_of(family, "mlp_bias");
  shape.attention.qk_norm = norm_place(knowledge::text_of(family, "qk_norm", "none"));
  shape.mlp.activation = knowledge::text_of(family, "activation", "silu");
  shape.extra_norms = knowledge::number_of(family, "extra_norms");
  shape.dropout = knowledge::number_of(family, "dropout");
  shape.attention.dropout = shape.dropout;
  shape.attention.head_dim = knowledge::number_of(family, "head_dim");
  shape.mlp.width = knowledge::number_of(family, "ffn_factor");
  for (const auto& [ours, name] : family["names"].members()) {
    if (const auto text = name.text()) shape.names.emplace(std::string(ours), std::string(*text));
  }
}

/// Activations as configurations spell them -> those that the decoder knows.
std::string activation_of(const std::string& word, const std::string& otherwise) {
  static constexpr std::pair<std::string_view, std::string_view> k_words[] = {
      {"silu", "silu"},         {"swish", "silu"},         {"gelu", "gelu"},
      {"gelu_new", "gelu_new"}, {"gelu_fast", "gelu_new"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"relu", "relu"},         {"relu2", "relu2"}};
  return std::string(core::second_of(k_words, word).value_or(otherwise));
}

void take_sizes(ModelShape& shape, const Known& known) {
  const double factor = shape.mlp.width;
  shape.layers = known.size("model.layers", 0);
  shape.hidden = known.size("model.hidden", 0);
  shape.vocab = known.size("model.vocab_size", 0);
  shape.attention.heads = known.size("model.heads", 0);
  shape.attention.kv_heads = known.size("model.kv_heads", shape.attention.heads);
  shape.mlp.width = known.size("model.ffn", factor > 0 ? factor * shape.hidden : 0);
  const double even = shape.attention.heads > 0 ? shape.hidden / shape.attention.heads : 0;
  shape.attention.head_dim =
      known.size("model.head_dim", shape.attention.head_dim > 0 ? shape.attention.head_dim : even);
  shape.experts.count = known.size("model.experts", 0);
  shape.experts.per_token = known.size("model.experts_per_token", shape.experts.count > 0 ? 2 : 0);
  shape.experts.width = known.size("model.expert_ffn", shape.mlp.width);
  shape.experts.shared_width = known.size("model.shared_ffn", 0);
}

void take_switches(ModelShape& shape, const Known& known) {
  const bool only_qkv = shape.attention.qkv_bias && !shape.attention.out_bias;
  shape.tied = known.truth("model.tie_embeddings", shape.tied);
  shape.attention.qkv_bias = known.truth("model.attention_bias", shape.attention.qkv_bias);
  // `attention_bias` of Llama-like models is on all four projections.
  if (known.has("model.attention_bias") && !only_qkv)
    shape.attention.out_bias = shape.attention.qkv_bias;
  shape.mlp.bias = known.truth("model.mlp_bias", shape.mlp.bias);
  shape.mlp.activation = activation_of(known.word("model.activation"), shape.mlp.activation);
  shape.dropout = known.number("model.dropout", shape.dropout);
  shape.attention.dropout = known.number("attn.dropout", shape.attention.dropout);
  if (known.truth("attn.qk_norm") && shape.attention.qk_norm == NormPlace::none)
    shape.attention.qk_norm = NormPlace::head;
}

std::string missing_sizes(const ModelShape& shape) {
  std::string missing;
  const std::pair<double, std::string_view> k_needed[] = {
      {shape.layers, "layers"},
      {shape.hidden, "hidden size"},
      {shape.attention.heads, "attention heads"},
      {shape.vocab, "vocabulary size"},
      {shape.mlp.width, "feed-forward width"}};
  for (const auto& [value, what] : k_needed) {
    if (value <= 0) missing += (missing.empty() ? "" : ", ") + std::string(what);
  }
  return missing;
}

/// What no model can have, from wherever it came: the plan walks every layer.
std::optional<core::Error> impossible_size(const Known& known) {
  std::string told = known.word("model.impossible_size");
  for (const knowledge::SettingSpec& spec : knowledge::setting_specs()) {
    const auto value = spec.most && told.empty() ? known.number(spec.name) : std::nullopt;
    if (!value || (*value >= spec.least.value_or(0) && *value <= *spec.most)) continue;
    told = fmt::format("{} = {}, which is not within {} to {}", spec.name,
                       core::show_number(*value), core::show_number(spec.least.value_or(0), 15),
                       core::show_number(*spec.most, 15));
  }
  if (told.empty()) return std::nullopt;
  return core::Error{core::ErrorCode::bad_usage,
                     fmt::format("[plan] {}; likely a damaged or made-up configuration; give the "
                                 "config.json that the model was published with",
                                 told)};
}

void add_vector(std::vector<Weight>& all, std::string role, double width) {
  all.push_back({role, std::move(role), 1, width, 1, false});
}

void add_norm(std::vector<Weight>& all, const ModelShape& shape, const std::string& role,
              double width) {
  add_vector(all, role, width);
  if (!shape.rms_norm) add_vector(all, role + ".bias", width);
}

void add_linear(std::vector<Weight>& all, const ModelShape& shape, const std::string& role,
                double in, double out, bool bias) {
  all.push_back({role, shape.matrix(role), in, out, 1, true});
  if (bias) add_vector(all, role + ".bias", out);
}

void add_feed_forward(std::vector<Weight>& all, const ModelShape& shape, double width) {
  const bool bias = shape.mlp.bias;
  if (shape.mlp.fused_gate_up) {
    add_linear(all, shape, "gate", shape.hidden, 2 * width, bias);
  } else {
    if (shape.mlp.gated) add_linear(all, shape, "gate", shape.hidden, width, bias);
    add_linear(all, shape, "up", shape.hidden, width, bias);
  }
  add_linear(all, shape, "down", width, shape.hidden, bias);
}

}  // namespace

std::string ModelShape::matrix(const std::string& role) const {
  const auto own = names.find(role);
  if (own != names.end()) return own->second;
  return role == "out" ? "o_proj" : role + "_proj";
}

bool take_named_model(Known& known) {
  const std::optional<Node> entry = knowledge::named_model(known.word("model.name"));
  if (!entry) return false;
  const Node& found = *entry;
  const auto put = [&](const char* setting, core::Value value) {
    if (!known.has(setting)) known.put(setting, std::move(value), "known model");
  };
  put("model.type", knowledge::text_of(found, "type"));
  constexpr std::pair<const char*, const char*> k_sizes[] = {
      {"layers", "model.layers"},
      {"hidden", "model.hidden"},
      {"ffn", "model.ffn"},
      {"heads", "model.heads"},
      {"kv_heads", "model.kv_heads"},
      {"vocab", "model.vocab_size"},
      {"positions", "model.max_positions"},
      {"experts", "model.experts"},
      {"experts_per_token", "model.experts_per_token"},
      {"expert_ffn", "model.expert_ffn"}};
  for (const auto& [key, setting] : k_sizes) {
    if (const double size = knowledge::number_of(found, key); size > 0) put(setting, size);
  }
  put("model.tie_embeddings",
      knowledge::truth_of(found, "tied", knowledge::text_of(found, "type") == "gpt2"));
  return true;
}

core::Result<ModelShape> model_shape(const Known& known) {
  ModelShape shape;
  shape.name = known.word("model.name");
  shape.type = core::lower(known.word("model.type"));
  shape.error = k_generic_error;
  if (const auto family = family_of(shape.type)) take_family(shape, *family);
  take_sizes(shape, known);
  take_switches(shape, known);
  if (shape.positions > 0) shape.positions = known.size("model.max_positions", 1024);
  if (auto impossible = impossible_size(known)) return tl::unexpected(*std::move(impossible));
  const std::string missing = missing_sizes(shape);
  if (missing.empty()) return shape;
  return core::fail(
      core::ErrorCode::bad_usage,
      fmt::format("[plan] the model's {} are not in what was given{}; give the config.json "
                  "of the model as well",
                  missing, shape.name.empty() ? "" : " (it names " + shape.name + ")"));
}

std::vector<Weight> layer_weights(const ModelShape& shape) {
  std::vector<Weight> all;
  const double q = shape.attention.heads * shape.attention.head_dim;
  const double kv = shape.attention.kv_heads * shape.attention.head_dim;
  for (double i = 0; i < 2 + shape.extra_norms; ++i) add_norm(all, shape, "norm", shape.hidden);
  if (shape.attention.fused_qkv) {
    add_linear(all, shape, "qkv", shape.hidden, q + 2 * kv, shape.attention.qkv_bias);
  } else {
    add_linear(all, shape, "q", shape.hidden, q, shape.attention.qkv_bias);
    add_linear(all, shape, "k", shape.hidden, kv, shape.attention.qkv_bias);
    add_linear(all, shape, "v", shape.hidden, kv, shape.attention.qkv_bias);
  }
  add_linear(all, shape, "out", q, shape.hidden, shape.attention.out_bias);
  if (shape.attention.qk_norm != NormPlace::none) {
    const bool each = shape.attention.qk_norm == NormPlace::head;
    add_norm(all, shape, "q_norm", each ? shape.attention.head_dim : q);
    add_norm(all, shape, "k_norm", each ? shape.attention.head_dim : kv);
  }
  if (shape.experts.count <= 0) {
    add_feed_forward(all, shape, shape.mlp.width);
    return all;
  }
  const double inner = shape.experts.width;
  all.push_back({"router", "gate", shape.hidden, shape.experts.count, 1, false});
  all.push_back(
      {"gate_up_experts", "gate_up_proj", shape.hidden, 2 * inner, shape.experts.count, false});
  all.push_back({"down_experts", "down_proj", inner, shape.hidden, shape.experts.count, false});
  if (shape.experts.shared_width > 0) {
    add_feed_forward(all, shape, shape.experts.shared_width);
    all.push_back({"shared_gate", "shared_expert_gate", shape.hidden, 1, 1, true});
  }
  return all;
}

std::vector<Weight> outer_weights(const ModelShape& shape) {
  std::vector<Weight> all = {{"embedding", "embed_tokens", shape.hidden, shape.vocab, 1, false}};
  if (shape.positions > 0)
    all.push_back({"positions", "wpe", shape.hidden, shape.positions, 1, false});
  add_norm(all, shape, "norm", shape.hidden);
  if (!shape.tied) all.push_back({"head", "lm_head", shape.hidden, shape.vocab, 1, false});
  return all;
}

double count_of(const std::vector<Weight>& weights) {
  double all = 0;
  for (const Weight& each : weights) all += each.count();
  return all;
}

double parameters_of(const ModelShape& shape) {
  return shape.layers * count_of(layer_weights(shape)) + count_of(outer_weights(shape));
}

double active_parameters_of(const ModelShape& shape) {
  if (shape.experts.count <= 0) return parameters_of(shape);
  const double idle =
      (shape.experts.count - std::min(shape.experts.count, shape.experts.per_token)) * 3 *
      shape.hidden * shape.experts.width;
  return parameters_of(shape) - shape.layers * idle;
}

}  // namespace aplomb::plan
