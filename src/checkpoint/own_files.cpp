#include "checkpoint/own_files.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "checkpoint/named_optimizer.h"

namespace aplomb::checkpoint {
namespace {

namespace dom = simdjson::dom;

struct StateName {
  std::string key;  ///< as torch calls it
  std::string parameter;
};

/// Torch's name of what an optimizer keeps; empty: none of these. `short_too`: MLX's one-letter
/// names, which are safe only behind a parameter's name.
std::string torch_key(std::string_view word, bool short_too) {
  static constexpr std::array<std::string_view, 5> k_known = {
      "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "step"};
  if (std::find(k_known.begin(), k_known.end(), word) != k_known.end()) return std::string(word);
  if (short_too && word == "m") return "exp_avg";
  if (short_too && word == "v") return "exp_avg_sq";
  return {};
}

std::optional<StateName> split_name(std::string_view name) {
  const std::size_t first = name.find('.');
  const std::size_t last = name.rfind('.');
  if (first == std::string_view::npos) return std::nullopt;
  if (std::string key = torch_key(name.substr(0, first), false); !key.empty())
    return StateName{std::move(key), std::string(name.substr(first + 1))};
  if (std::string key = torch_key(name.substr(last + 1), true); !key.empty())
    return StateName{std::move(key), std::string(name.substr(0, last))};
  return std::nullopt;
}

void take_group(dom::object group, std::size_t index, NamedOptimizer& to) {
  for (const auto& [key, value] : group) {
    double number = 0;
    std::string_view word;
    dom::array parameters;
    if (value.get_double().get(number) == simdjson::SUCCESS) {
      to.group(index).numbers[std::string(key)] = number;
    } else if (value.get_string().get(word) == simdjson::SUCCESS) {
      to.group(index).words[std::string(key)] = std::string(word);
    } else if (key == "parameters" && value.get_array().get(parameters) == simdjson::SUCCESS) {
      for (const dom::element each : parameters) {
        if (each.get_string().get(word) == simdjson::SUCCESS) to.group_of(std::string(word), index);
      }
    }
  }
}

void take_groups(const std::string& json, NamedOptimizer& to) {
  dom::parser parser;
  dom::array groups;
  if (parser.parse(json).get_array().get(groups) != simdjson::SUCCESS) return;
  std::size_t index = 0;
  for (const dom::element each : groups) {
    dom::object group;
    if (each.get_object().get(group) == simdjson::SUCCESS) take_group(group, index, to);
    ++index;
  }
}

}  // namespace

bool is_optimizer_file(const SafetensorsFile& file) {
  const auto format = file.metadata.find("format");
  return format != file.metadata.end() && format->second == k_optimizer_format;
}

std::optional<OptimizerState> optimizer_of(SafetensorsFile file, const std::string& path) {
  NamedOptimizer builder;
  for (tensors::Tensor& tensor : file.tensors) {
    auto name = split_name(tensor.name);
    if (!name) continue;
    double step = 0;
    if (name->key != "step") {
      builder.tensor(name->parameter, name->key, std::move(tensor));
    } else if (tensor.count == 1 && tensors::read_elements(tensor, 0, std::span(&step, 1))) {
      builder.step(name->parameter, step);
    }
  }
  if (builder.empty()) return std::nullopt;
  const auto groups = file.metadata.find("groups");
  if (groups != file.metadata.end()) take_groups(groups->second, builder);
  return builder.finish(path);
}

bool take_training_state(std::string_view json, Checkpoint& out) {
  dom::parser parser;
  dom::object state;
  if (parser.parse(json).get_object().get(state) != simdjson::SUCCESS) return false;
  const auto number = [&](const char* key) -> std::optional<double> {
    double value = 0;
    if (state[key].get_double().get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
  };
  const auto take = [&](const char* key, const char* as, std::map<std::string, double>& to) {
    if (const auto value = number(key)) to.emplace(as, *value);
  };
  take("step", "global_step", out.trainer_state);
  take("total_steps", "max_steps", out.trainer_state);
  take("epoch", "epoch", out.trainer_state);
  take("world", "dp_world_size", out.trainer_state);
  // The schedule is a function of the step: there is no other state of it.
  take("step", "last_epoch", out.scheduler);
  // 1 where nothing is scaled: then there is no scaler.
  if (number("loss_scale").value_or(1) != 1) take("loss_scale", "scale", out.scaler);
  dom::object random;
  if (state["rng"].get_object().get(random) == simdjson::SUCCESS && random.size() > 0)
    out.rng_ranks.push_back(-1);
  return true;
}

}  // namespace aplomb::checkpoint
