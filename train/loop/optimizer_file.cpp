#include "train/loop/optimizer_file.h"

#include <nlohmann/json.hpp>

#include "checkpoint/own_files.h"
#include "train/loop/tensor_file.h"

namespace aplomb::train::loop {
namespace {

/// `exp_avg.PARAMETER` under the name that the weights' file has for the parameter.
std::vector<NamedTensor> saved_state(Optimizer& optimizer, const Trainee& trainee) {
  std::vector<NamedTensor> all = optimizer.state();
  for (NamedTensor& each : all) {
    const std::size_t begin = each.name.find('.') + 1;
    each.name = each.name.substr(0, begin) + trainee.saved_name(each.name.substr(begin));
  }
  return all;
}

std::string groups_json(const Optimizer& optimizer, const Trainee& trainee, double factor) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const OptimizerGroupInfo& info : optimizer.groups(factor)) {
    nlohmann::ordered_json group;
    for (const auto& [name, value] : info.numbers) group[name] = value;
    for (const std::string& each : info.parameters)
      group["parameters"].push_back(trainee.saved_name(each));
    groups.push_back(std::move(group));
  }
  return groups.dump();
}

}  // namespace

core::Result<void> save_optimizer(const std::string& path, Optimizer& optimizer,
                                  const Trainee& trainee, double factor) {
  return save_tensors(path, saved_state(optimizer, trainee),
                      {{"format", std::string(checkpoint::k_optimizer_format)},
                       {"groups", groups_json(optimizer, trainee, factor)}});
}

core::Result<void> load_optimizer(const std::string& path, Optimizer& optimizer,
                                  const Trainee& trainee) {
  return load_tensors(path, saved_state(optimizer, trainee));
}

}  // namespace aplomb::train::loop
