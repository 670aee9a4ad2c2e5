#include "train/model/module.h"

namespace aplomb::train::model {

using torch::OrderedDict;
using torch::Tensor;

void Module::collect(const std::string& prefix, OrderedDict<std::string, Tensor>& into) const {
  for (const auto& each : parameters_) into.insert(prefix + each.key(), each.value());
  for (const auto& each : children_) each.value()->collect(prefix + each.key() + ".", into);
}

void Module::collect(const std::string& prefix,
                     OrderedDict<std::string, std::shared_ptr<Module>>& into) const {
  for (const auto& each : children_) {
    into.insert(prefix + each.key(), each.value());
    each.value()->collect(prefix + each.key() + ".", into);
  }
}

OrderedDict<std::string, Tensor> Module::named_parameters() const {
  OrderedDict<std::string, Tensor> found;
  collect("", found);
  return found;
}

std::vector<Tensor> Module::parameters() const { return named_parameters().values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules() const {
  OrderedDict<std::string, std::shared_ptr<Module>> found;
  collect("", found);
  return found;
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& each : children_) each.value()->train(on);
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& each : parameters()) {
    Tensor& gradient = each.mutable_grad();
    if (set_to_none) {
      gradient.reset();
    } else if (gradient.defined()) {
      gradient = gradient.detach();
      gradient.zero_();
    }
  }
}

Tensor Module::register_parameter(const std::string& name, Tensor tensor, bool trains) {
  tensor.set_requires_grad(trains);
  parameters_.insert(name, tensor);
  return tensor;
}

void Module::remove_parameter(const std::string& name) {
  if (parameters_.contains(name)) parameters_.erase(name);
}

}  // namespace aplomb::train::model
