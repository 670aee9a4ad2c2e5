#include "train/model/weights.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "train/model/tensor_bytes.h"

namespace aplomb::train::model {
namespace {

using StoredByName = std::map<std::string, const aplomb::tensors::Tensor*, std::less<>>;

/// Names of Hugging Face's base models lack `model.`.
const aplomb::tensors::Tensor* find(const StoredByName& stored, const std::string& name) {
  constexpr std::string_view k_prefix = "model.";
  if (const auto at = stored.find(name); at != stored.end()) return at->second;
  if (!name.starts_with(k_prefix)) return nullptr;
  const auto at = stored.find(std::string_view(name).substr(k_prefix.size()));
  return at == stored.end() ? nullptr : at->second;
}

std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t k_shown = 3;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < k_shown; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > k_shown) text += fmt::format(" and {} more", names.size() - k_shown);
  return text;
}

/// What the reader of the files had to say, worst first: the likely reason that weights are
/// missing.
std::string said(const checkpoint::Checkpoint& checkpoint) {
  if (checkpoint.findings.empty()) return "";
  const auto worst = std::max_element(
      checkpoint.findings.begin(), checkpoint.findings.end(),
      [](const tensors::Finding& a, const tensors::Finding& b) { return a.severity < b.severity; });
  return fmt::format("; {}: {}", worst->path, worst->text);
}

/// The likely reason where weights are missing or of another shape: they are kept in few bits.
std::string quantised(const ModelConfig& config) {
  const auto json = nlohmann::json::parse(config.text, nullptr, false);
  if (!json.is_object() || !json.contains("quantization_config")) return "";
  const nlohmann::json& how = json["quantization_config"];
  const auto method = how.is_object() ? how.find("quant_method") : how.end();
  const bool named = how.is_object() && method != how.end() && method->is_string();
  return fmt::format("; config.json says that they are quantised{}: take the model's float weights",
                     named ? " (" + method->get<std::string>() + ")" : "");
}

struct Match {
  torch::Tensor parameter;
  const aplomb::tensors::Tensor* stored = nullptr;
  std::string name;
};

/// Every parameter with its stored tensor, or what is wrong.
core::Result<std::vector<Match>> match(const LanguageModel& model,
                                       const checkpoint::Checkpoint& checkpoint,
                                       const std::string& folder) {
  StoredByName stored;
  for (const aplomb::tensors::Tensor& each : checkpoint.tensors) stored.emplace(each.name, &each);
  std::vector<Match> matches;
  std::vector<std::string> missing, differing;
  for (const auto& each : model.named_parameters()) {
    const aplomb::tensors::Tensor* found = find(stored, each.key());
    if (found == nullptr || !found->has_data()) {
      missing.push_back(each.key());
    } else if (each.value().sizes() != torch::IntArrayRef(found->shape)) {
      differing.push_back(fmt::format("{} is {} in the file and {} by config.json", each.key(),
                                      tensors::show_shape(found->shape),
                                      tensors::show_shape(each.value().sizes())));
    } else if (!torch_dtype(*found)) {
      return core::fail(
          core::ErrorCode::unsupported,
          fmt::format(
              "[weights] {}: {} is stored as {}, which is not trained on here; take the model's "
              "float weights",
              folder, each.key(), found->type == nullptr ? "an unknown type" : found->type->name));
    }
    matches.push_back({each.value(), found, each.key()});
  }
  if (!missing.empty()) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[weights] {}: {} of {} weights are missing: {}{}{}", folder,
                                  missing.size(), matches.size(), first_of(missing),
                                  said(checkpoint), quantised(model.config())));
  }
  if (!differing.empty()) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[weights] {}: {} of {} weights have another shape: {}; the weights "
                    "belong to another config.json{}",
                    folder, differing.size(), matches.size(), first_of(differing),
                    quantised(model.config())));
  }
  return matches;
}

std::vector<std::string> unused(const std::vector<Match>& matches,
                                const checkpoint::Checkpoint& checkpoint) {
  std::map<const aplomb::tensors::Tensor*, bool> used;
  for (const Match& each : matches) used[each.stored] = true;
  std::vector<std::string> names;
  for (const aplomb::tensors::Tensor& each : checkpoint.tensors) {
    if (!used.contains(&each)) names.push_back(each.name);
  }
  return names;
}

/// The parameter becomes the stored elements themselves, where it would be a copy of them bit by
/// bit. False: it is as it was.
bool take_place(const aplomb::tensors::Tensor& stored, torch::Tensor parameter) {
  const bool is_same = parameter.is_cpu() && torch_dtype(stored) == parameter.scalar_type();
  const auto in_place = is_same ? stored_in_place(stored) : std::nullopt;
  if (!in_place) return false;
  parameter.set_data(*in_place);
  return true;
}

}  // namespace

core::Result<LoadedWeights> load_weights(LanguageModel& model, const std::string& folder) {
  const auto checkpoint = checkpoint::open_checkpoint(folder);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  const auto matches = match(model, *checkpoint, folder);
  if (!matches) return tl::unexpected(matches.error());
  const torch::NoGradGuard no_grad;
  LoadedWeights loaded;
  for (const Match& each : *matches) {
    loaded.bytes += tensors::stored_bytes(*each.stored);
    if (model.options().map_base && take_place(*each.stored, each.parameter)) continue;
    if (!copy_stored(*each.stored, each.parameter)) {
      return core::fail(core::ErrorCode::not_readable,
                        fmt::format("[weights] {}: {} cannot be read", folder, each.name));
    }
  }
  loaded.unused = unused(*matches, *checkpoint);
  return loaded;
}

}  // namespace aplomb::train::model
