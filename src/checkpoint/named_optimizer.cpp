#include "checkpoint/named_optimizer.h"

#include <algorithm>

namespace aplomb::checkpoint {

std::int64_t NamedOptimizer::id_of(const std::string& parameter) {
  const auto [found, fresh] = ids_.emplace(parameter, static_cast<std::int64_t>(out_.names.size()));
  if (fresh) out_.names.push_back(parameter);
  return found->second;
}

void NamedOptimizer::tensor(const std::string& parameter, const std::string& key,
                            tensors::Tensor tensor) {
  ParameterState& state = states_[id_of(parameter)];
  tensor.name = parameter + "." + key;
  state.tensors[key] = out_.tensors.size();
  out_.tensors.push_back(std::move(tensor));
}

void NamedOptimizer::step(const std::string& parameter, double step) {
  states_[id_of(parameter)].step = step;
}

void NamedOptimizer::group_of(const std::string& parameter, std::size_t group) {
  groups_[id_of(parameter)] = group;
}

OptimizerGroup& NamedOptimizer::group(std::size_t index) {
  constexpr std::size_t k_most = 100'000;
  index = std::min(index, k_most);
  if (out_.groups.size() <= index) out_.groups.resize(index + 1);
  return out_.groups[index];
}

OptimizerState NamedOptimizer::finish(std::string path) {
  out_.path = std::move(path);
  out_.name_keyed = true;
  if (out_.groups.empty()) out_.groups.emplace_back();
  for (const auto& [name, id] : ids_) {
    const auto found = groups_.find(id);
    const std::size_t group = found == groups_.end() ? 0 : found->second;
    out_.groups[std::min(group, out_.groups.size() - 1)].parameters.push_back(id);
  }
  for (OptimizerGroup& each : out_.groups) {
    std::sort(each.parameters.begin(), each.parameters.end());
    const auto decoupled = each.numbers.find("decoupled_weight_decay");
    each.decoupled = decoupled == each.numbers.end() || decoupled->second != 0;
  }
  for (auto& [id, state] : states_) {
    state.id = id;
    out_.states.push_back(std::move(state));
  }
  return std::move(out_);
}

}  // namespace aplomb::checkpoint
