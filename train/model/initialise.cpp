#include "train/model/initialise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace aplomb::train::model {
namespace {

bool ends_with_any(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* each) { return name.ends_with(each); });
}

}  // namespace

void initialise_weights(LanguageModel& model) {
  const torch::NoGradGuard no_grad;
  const double deviation = model.config().initializer_range;
  const double residual = deviation / std::sqrt(2.0 * static_cast<double>(model.config().layers));
  for (const auto& each : model.named_parameters()) {
    const torch::Tensor& tensor = each.value();
    if (ends_with_any(each.key(), {"norm.weight"})) {
      tensor.fill_(1);
    } else if (ends_with_any(each.key(), {".bias"})) {
      tensor.zero_();
    } else {
      const bool writes = ends_with_any(each.key(), {"o_proj.weight", "down_proj.weight"});
      // In fp32 first: a bf16 base rounds the same numbers.
      tensor.copy_(torch::empty(tensor.sizes(), tensor.options().dtype(torch::kFloat32))
                       .normal_(0, writes ? residual : deviation));
    }
  }
}

core::Result<ModelConfig> with_qk_norm(const ModelConfig& config) {
  if (config.attention.qk_norm) return config;
  const bool plain = !config.attention.qkv_bias && !config.attention.output_bias &&
                     !config.mlp_bias &&
                     std::all_of(config.attention.windows.begin(), config.attention.windows.end(),
                                 [](std::int64_t each) { return each == 0; }) &&
                     std::all_of(config.attention.rotates.begin(), config.attention.rotates.end(),
                                 [](bool each) { return each; });
  if (!plain) {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("[model] {} with QK-norm is no architecture that other programs read; "
                    "it can be added to "
                    "models of the Llama kind without biases and sliding windows",
                    config.architecture));
  }
  auto json = nlohmann::ordered_json::parse(config.text, nullptr, false);
  if (!json.is_object())
    return core::fail(core::ErrorCode::bad_format,
                      "[model] the configuration has no text to change");
  json["architectures"] = {"Qwen3ForCausalLM"};
  json["model_type"] = "qwen3";
  json["head_dim"] = config.attention.head_dim;
  json["tie_word_embeddings"] = config.tie_embeddings;
  json["use_sliding_window"] = false;
  json["sliding_window"] = nullptr;
  return parse_model_config(json.dump(2), "config.json");
}

}  // namespace aplomb::train::model
