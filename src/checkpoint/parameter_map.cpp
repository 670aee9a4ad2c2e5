#include "checkpoint/parameter_map.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

using Shape = std::vector<std::int64_t>;

/// Weights that could be parameters, in the model's order. Tied weights share their bytes and are
/// one parameter.
std::vector<std::size_t> candidates(const Checkpoint& checkpoint) {
  std::vector<std::size_t> order;
  std::set<const std::byte*> seen;
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const tensors::Tensor& tensor = checkpoint.tensors[i];
    if (kind_of(tensor) == TensorKind::buffer) continue;
    if (!tensor.bytes.empty() && !seen.insert(tensor.bytes.data()).second) continue;
    order.push_back(i);
  }
  if (checkpoint.in_model_order) return order;
  std::vector<std::string> keys(checkpoint.tensors.size());
  for (const std::size_t i : order) keys[i] = model_order_key(checkpoint.tensors[i].name);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

/// The shape of a parameter: that of its moments.
const Shape* shape_of(const OptimizerState& optimizer, const ParameterState* state) {
  if (state == nullptr) return nullptr;
  for (const char* key : {"exp_avg", "momentum_buffer", "exp_avg_sq", "square_avg", "sum"}) {
    const auto found = state->tensors.find(key);
    if (found != state->tensors.end()) return &optimizer.tensors[found->second].shape;
  }
  return nullptr;
}

void match_by_name(const Checkpoint& checkpoint, ParameterMap& map) {
  const OptimizerState& optimizer = *checkpoint.optimizer;
  for (MappedParameter& each : map.parameters) {
    if (each.id < 0 || static_cast<std::size_t>(each.id) >= optimizer.names.size()) continue;
    const std::string& name = optimizer.names[static_cast<std::size_t>(each.id)];
    for (std::size_t i = 0; i < checkpoint.tensors.size() && !each.tensor; ++i) {
      if (checkpoint.tensors[i].name == name) each.tensor = i;
    }
    each.sure = each.tensor.has_value();
  }
}

void match_by_shape(const Checkpoint& checkpoint, ParameterMap& map) {
  std::map<Shape, std::deque<std::size_t>> by_shape;
  for (const std::size_t i : candidates(checkpoint)) {
    by_shape[checkpoint.tensors[i].shape].push_back(i);
  }
  std::map<Shape, std::size_t> wanted;
  std::map<Shape, std::size_t> offered;
  for (const auto& [shape, list] : by_shape) offered[shape] = list.size();
  for (const MappedParameter& each : map.parameters) {
    if (const Shape* shape = shape_of(*checkpoint.optimizer, each.state)) ++wanted[*shape];
  }
  map.counts_agree = true;
  for (MappedParameter& each : map.parameters) {
    const Shape* shape = shape_of(*checkpoint.optimizer, each.state);
    if (shape == nullptr) continue;
    auto found = by_shape.find(*shape);
    const bool fits = found != by_shape.end() && wanted[*shape] == offered[*shape];
    map.counts_agree = map.counts_agree && fits;
    if (found == by_shape.end() || found->second.empty()) continue;
    each.tensor = found->second.front();
    each.sure = fits && (offered[*shape] == 1 || checkpoint.in_model_order);
    found->second.pop_front();
  }
}

/// A copy of weights that follows the trained ones: of an average, a teacher, a target network.
bool is_follower(std::string_view tensor_name) {
  std::string word;
  for (const char c : core::lower(tensor_name) + ".") {
    if (c != '.' && c != '_') {
      word += c;
      continue;
    }
    if (word == "ema" || word == "teacher" || word == "target" || word == "shadow" || word == "ref")
      return true;
    word.clear();
  }
  return false;
}

}  // namespace

bool ParameterMap::certain() const {
  return counts_agree &&
         std::all_of(parameters.begin(), parameters.end(), [](const MappedParameter& each) {
           return each.sure || each.state == nullptr;
         });
}

std::vector<std::size_t> meant_to_train(const Checkpoint& checkpoint, const ParameterMap& map) {
  const auto is_lora = [](const tensors::Tensor& tensor) {
    const TensorKind kind = kind_of(tensor);
    return kind == TensorKind::lora_a || kind == TensorKind::lora_b;
  };
  const bool adapted = checkpoint.is_adapter ||
                       std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), is_lora);
  const auto tied = checkpoint.config.find("tie_word_embeddings");
  const bool one_head = tied != checkpoint.config.end() && tied->second != 0;
  std::vector<std::size_t> left;
  for (const std::size_t i : map.unheld) {
    const tensors::Tensor& tensor = checkpoint.tensors[i];
    const bool frozen_base = adapted && !is_lora(tensor);
    const bool is_tied = one_head && kind_of(tensor) == TensorKind::head;
    if (!frozen_base && !is_tied && !is_follower(tensor.name)) left.push_back(i);
  }
  return left;
}

ParameterMap map_parameters(const Checkpoint& checkpoint) {
  ParameterMap map;
  if (!checkpoint.optimizer) return map;
  const OptimizerState& optimizer = *checkpoint.optimizer;
  for (std::size_t group = 0; group < optimizer.groups.size(); ++group) {
    for (const std::int64_t id : optimizer.groups[group].parameters) {
      map.parameters.push_back({id, group, optimizer.state(id), std::nullopt, false});
    }
  }
  if (optimizer.name_keyed) {
    match_by_name(checkpoint, map);
    map.counts_agree = true;
  } else {
    match_by_shape(checkpoint, map);
  }
  std::set<std::size_t> held;
  for (const MappedParameter& each : map.parameters) {
    if (each.tensor) held.insert(*each.tensor);
  }
  for (const std::size_t i : candidates(checkpoint)) {
    if (held.count(i) == 0) map.unheld.push_back(i);
  }
  return map;
}

}  // namespace aplomb::checkpoint
