/// PEFT's format: adapter_config.json, and adapter_model.safetensors with names such as
///     base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight      [r, I]
///     base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight      [O, r]
///     base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector   [O], DoRA

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/checkpoint.h"
#include "train/model/adapter.h"
#include "train/model/named_linears.h"
#include "train/model/tensor_bytes.h"
#include "train/model/weights.h"

namespace aplomb::train::model {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view k_prefix = "base_model.model.";

bool is_set(const Json& config, const char* key) {
  const auto at = config.find(key);
  if (at == config.end() || at->is_null() || *at == false) return false;
  return !((at->is_array() || at->is_object()) && at->empty());
}

/// What PEFT can say and this build does not do.
std::string unsupported_part(const Json& config) {
  if (config.value("peft_type", "LORA") != "LORA")
    return fmt::format("peft_type {}", config["peft_type"].dump());
  if (config.value("bias", "none") != "none") return fmt::format("bias {}", config["bias"].dump());
  for (const char* key : {"modules_to_save", "rank_pattern", "alpha_pattern", "lora_bias",
                          "fan_in_fan_out", "layer_replication", "trainable_token_indices",
                          "target_parameters", "use_qalora", "alora_invocation_tokens"}) {
    if (is_set(config, key)) return fmt::format("{} {}", key, config[key].dump());
  }
  return "";
}

core::Result<Json> read_config(const std::string& folder) {
  const std::string path = folder + "/adapter_config.json";
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return core::fail(core::ErrorCode::not_found,
                      fmt::format("[adapter] {} cannot be opened; is it a PEFT folder?", path));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  Json config = Json::parse(text, nullptr, false);
  if (!config.is_object())
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[adapter] {} is no JSON object", path));
  return config;
}

/// The tensor of a layer, checked against the place it goes to.
core::Result<void> fill(const std::map<std::string, const aplomb::tensors::Tensor*>& stored,
                        const std::string& name, const torch::Tensor& target) {
  const auto at = stored.find(name);
  if (at == stored.end() || !at->second->has_data()) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[adapter] {} is missing from adapter_model.safetensors", name));
  }
  if (target.sizes() != torch::IntArrayRef(at->second->shape)) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[adapter] {} is {} in the file, but {} fits the model; the adapter is "
                    "of another model or "
                    "rank",
                    name, tensors::show_shape(at->second->shape),
                    tensors::show_shape(target.sizes())));
  }
  const torch::NoGradGuard no_grad;
  if (!copy_stored(*at->second, target)) {
    return core::fail(core::ErrorCode::unsupported,
                      fmt::format("[adapter] {} cannot be read as floats", name));
  }
  return {};
}

/// Layers that the file has weights for; the config may name them by a pattern.
std::vector<std::string> layers_in(const checkpoint::Checkpoint& checkpoint) {
  constexpr std::string_view k_suffix = ".lora_A.weight";
  std::vector<std::string> layers;
  for (const aplomb::tensors::Tensor& each : checkpoint.tensors) {
    if (!each.name.starts_with(k_prefix) || !each.name.ends_with(k_suffix)) continue;
    layers.push_back(
        each.name.substr(k_prefix.size(), each.name.size() - k_prefix.size() - k_suffix.size()));
  }
  return layers;
}

std::string file_name_of(const NamedLinear& layer, const char* part) {
  return fmt::format("{}{}.{}", k_prefix, layer.name, part);
}

Json config_of(const AdapterOptions& options, const std::set<std::string>& kinds,
               const std::string& base) {
  return {{"alpha_pattern", Json::object()},
          {"base_model_name_or_path", base},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"lora_alpha", options.alpha},
          {"lora_dropout", options.dropout},
          {"modules_to_save", nullptr},
          {"peft_type", "LORA"},
          {"r", options.rank},
          {"rank_pattern", Json::object()},
          {"target_modules", kinds},
          {"task_type", "CAUSAL_LM"},
          {"use_dora", options.dora},
          {"use_rslora", options.rank_stabilised}};
}

}  // namespace

core::Result<AdapterOptions> read_adapter_options(const std::string& folder) {
  const auto config = read_config(folder);
  if (!config) return tl::unexpected(config.error());
  const auto number = [&](const char* key) {
    return config->contains(key) && (*config)[key].is_number();
  };
  if (!number("r") || !number("lora_alpha")) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[adapter] {}/adapter_config.json: `r` or `lora_alpha` is missing", folder));
  }
  if (const std::string part = unsupported_part(*config); !part.empty()) {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("[adapter] {}/adapter_config.json: {} is not built here", folder, part));
  }
  AdapterOptions options;
  options.rank = (*config)["r"].get<std::int64_t>();
  options.alpha = (*config)["lora_alpha"].get<double>();
  options.dropout = number("lora_dropout") ? (*config)["lora_dropout"].get<double>() : 0;
  options.dora = is_set(*config, "use_dora");
  options.rank_stabilised = is_set(*config, "use_rslora");
  const auto targets = config->find("target_modules");
  if (targets != config->end() && targets->is_array())
    options.targets = targets->get<std::vector<std::string>>();
  return options;
}

core::Result<AttachedAdapter> load_adapter(LanguageModel& model, const std::string& folder) {
  auto options = read_adapter_options(folder);
  if (!options) return tl::unexpected(options.error());
  const auto checkpoint = checkpoint::open_checkpoint(folder);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  options->targets = layers_in(*checkpoint);
  const auto attached = attach_adapter(model, *options);
  if (!attached) return attached;
  std::map<std::string, const aplomb::tensors::Tensor*> stored;
  for (const aplomb::tensors::Tensor& each : checkpoint->tensors) stored.emplace(each.name, &each);
  for (const NamedLinear& layer : named_linears(model)) {
    const Adapter* adapter = layer.linear->adapter();
    if (adapter == nullptr) continue;
    core::Result<void> filled = fill(stored, file_name_of(layer, "lora_A.weight"), adapter->a);
    if (filled) filled = fill(stored, file_name_of(layer, "lora_B.weight"), adapter->b);
    if (filled && adapter->is_dora())
      filled = fill(stored, file_name_of(layer, "lora_magnitude_vector"), adapter->magnitude);
    if (!filled) return tl::unexpected(filled.error());
  }
  return attached;
}

core::Result<void> save_adapter(const LanguageModel& model, const AdapterOptions& options,
                                const std::string& folder, const std::string& base) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  std::set<std::string> kinds;
  for (const NamedLinear& layer : named_linears(model)) {
    const Adapter* adapter = layer.linear->adapter();
    if (adapter == nullptr) continue;
    kinds.insert(layer.name.substr(layer.name.rfind('.') + 1));
    tensors.emplace_back(file_name_of(layer, "lora_A.weight"), adapter->a);
    tensors.emplace_back(file_name_of(layer, "lora_B.weight"), adapter->b);
    if (adapter->is_dora())
      tensors.emplace_back(file_name_of(layer, "lora_magnitude_vector"), adapter->magnitude);
  }
  if (tensors.empty())
    return core::fail(core::ErrorCode::bad_usage, "[adapter] the model has no adapter to save");
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  if (auto written = write_safetensors(folder + "/adapter_model.safetensors", tensors); !written)
    return written;
  return write_text(folder + "/adapter_config.json",
                    config_of(options, kinds, base).dump(2) + "\n");
}

}  // namespace aplomb::train::model
