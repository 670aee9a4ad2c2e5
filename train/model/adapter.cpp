#include "train/model/adapter.h"

#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <set>

#include "train/model/named_linears.h"

namespace aplomb::train::model {
namespace {

constexpr const char* k_all = "all-linear";

bool ends_in(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

core::Result<void> check(const AdapterOptions& options) {
  if (options.rank < 1)
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[adapter] rank {} is below 1", options.rank));
  if (!(options.alpha > 0) || !std::isfinite(options.alpha)) {
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[adapter] alpha {} is not positive", options.alpha));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[adapter] dropout {} is not in [0, 1)", options.dropout));
  }
  return {};
}

/// The layers that some target names.
core::Result<std::vector<NamedLinear>> chosen(const LanguageModel& model,
                                              const std::vector<std::string>& targets) {
  std::vector<NamedLinear> found;
  std::set<std::string> kinds, met;
  for (const NamedLinear& each : named_linears(model)) {
    if (each.name == "lm_head") continue;
    kinds.insert(each.name.substr(each.name.rfind('.') + 1));
    bool wanted = false;
    for (const std::string& target : targets) {
      if (target != k_all && !ends_in(each.name, target)) continue;
      met.insert(target);
      wanted = true;
    }
    if (wanted) found.push_back(each);
  }
  for (const std::string& target : targets) {
    if (met.contains(target)) continue;
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[adapter] no layer is called `{}`; there are {}, or {}", target,
                                  fmt::join(kinds, ", "), k_all));
  }
  if (found.empty())
    return core::fail(core::ErrorCode::bad_usage, "[adapter] no target layers are named");
  return found;
}

}  // namespace

std::vector<NamedLinear> named_linears(const LanguageModel& model) {
  std::vector<NamedLinear> found;
  for (const auto& each : model.named_modules()) {
    if (auto linear = std::dynamic_pointer_cast<Linear>(each.value()))
      found.push_back({each.key(), std::move(linear)});
  }
  return found;
}

core::Result<AttachedAdapter> attach_adapter(LanguageModel& model, const AdapterOptions& options) {
  if (auto sound = check(options); !sound) return tl::unexpected(sound.error());
  const auto layers = chosen(model, options.targets);
  if (!layers) return tl::unexpected(layers.error());
  for (const NamedLinear& each : named_linears(model)) {
    if (each.linear->adapter() != nullptr)
      return core::fail(core::ErrorCode::bad_usage, "[adapter] the model has an adapter already");
  }
  for (torch::Tensor& each : model.parameters()) each.requires_grad_(false);
  const auto rank = static_cast<double>(options.rank);
  const double scaling = options.alpha / (options.rank_stabilised ? std::sqrt(rank) : rank);
  AttachedAdapter attached;
  for (const NamedLinear& each : *layers) {
    each.linear->attach(options.rank, scaling, options.dropout, options.dora);
    ++attached.layers;
  }
  for (const auto& [name, tensor] : model.trainable_parameters())
    attached.parameters += tensor.numel();
  return attached;
}

void merge_adapter(LanguageModel& model) {
  for (const NamedLinear& each : named_linears(model)) each.linear->merge();
}

}  // namespace aplomb::train::model
