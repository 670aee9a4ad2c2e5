/// Full weights as transformers writes them: one file, or shards with an index.
///
///     model-00001-of-00002.safetensors
///     model.safetensors.index.json   {"metadata": {"total_size": 8}, "weight_map": {"w":
///     "model-..."}}

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "train/model/weights.h"

namespace aplomb::train::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_single = "model.safetensors";
constexpr const char* k_index = "model.safetensors.index.json";

const char* dtype_word(torch::Dtype dtype) {
  if (dtype == torch::kBFloat16) return "bfloat16";
  return dtype == torch::kFloat16 ? "float16" : "float32";
}

/// The file the model was read from, with what has changed: the dtype under both its names.
std::string config_text(const ModelConfig& config, torch::Dtype dtype) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(config.text, nullptr, false);
  if (!json.is_object()) json = nlohmann::ordered_json::object();
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] = dtype_word(dtype);
  return json.dump(2) + "\n";
}

/// A weight that is cast, and merged with its adapter, only when its turn comes: beside the model,
/// one shard is held in memory.
struct Entry {
  std::string name;
  std::uint64_t bytes = 0;
  std::function<torch::Tensor()> make;
};

std::vector<Entry> entries_of(const LanguageModel& model, torch::Dtype dtype) {
  std::map<std::string, std::shared_ptr<Linear>> adapted;
  for (const auto& each : model.named_modules()) {
    const auto linear = std::dynamic_pointer_cast<Linear>(each.value());
    if (linear != nullptr && linear->adapter() != nullptr) adapted[each.key() + ".weight"] = linear;
  }
  std::vector<Entry> entries;
  for (const auto& each : model.named_parameters()) {
    if (each.key().find(".lora_") != std::string::npos) continue;
    const torch::Tensor weight = each.value().detach();
    const auto found = adapted.find(each.key());
    Entry entry;
    entry.name = each.key();
    entry.bytes = static_cast<std::uint64_t>(weight.numel()) * c10::elementSize(dtype);
    if (found == adapted.end()) {
      entry.make = [weight, dtype] { return weight.to(dtype); };
    } else {
      entry.make = [linear = found->second, dtype] { return linear->merged_weight().to(dtype); };
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// In their order, as many a shard as fit; one that is too large stands alone. As
/// huggingface_hub.split_torch_state_dict_into_shards cuts them.
std::vector<std::vector<Entry>> shards_of(std::vector<Entry> entries, std::uint64_t most_bytes) {
  std::vector<std::vector<Entry>> shards(1);
  std::uint64_t bytes = 0;
  for (Entry& each : entries) {
    if (!shards.back().empty() && bytes + each.bytes > most_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += each.bytes;
    shards.back().push_back(std::move(each));
  }
  return shards;
}

core::Result<void> write_shard(const std::string& path, const std::vector<Entry>& entries) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const Entry& each : entries) tensors.emplace_back(each.name, each.make());
  return write_safetensors(path, tensors);
}

core::Result<void> write_shards(const std::string& folder,
                                const std::vector<std::vector<Entry>>& shards) {
  nlohmann::ordered_json index;
  std::uint64_t bytes = 0;
  index["metadata"]["total_size"] = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    if (auto written = write_shard(folder + "/" + name, shards[i]); !written) return written;
    for (const Entry& each : shards[i]) {
      index["weight_map"][each.name] = name;
      bytes += each.bytes;
    }
  }
  index["metadata"]["total_size"] = bytes;
  return write_text(folder + "/" + k_index, index.dump(2) + "\n");
}

}  // namespace

core::Result<void> save_full(const LanguageModel& model, const std::string& folder,
                             torch::Dtype dtype, std::uint64_t max_shard_bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  const torch::NoGradGuard no_grad;
  const auto shards = shards_of(entries_of(model, dtype), max_shard_bytes);
  const bool single = shards.size() == 1;
  if (auto written = single ? write_shard(folder + "/" + k_single, shards.front())
                            : write_shards(folder, shards);
      !written) {
    return written;
  }
  // Of an earlier save in the other form: transformers would take it first.
  fs::remove(folder + "/" + (single ? k_index : k_single), failed);
  return write_text(folder + "/config.json", config_text(model.config(), dtype));
}

}  // namespace aplomb::train::model
