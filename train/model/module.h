#pragma once
/// Module: a part of a model with its parameters, and other parts below it. Names join with points:
/// `model.layers.0.self_attn.q_proj.weight`.
///
/// What torch::nn::Module does of this is the same; its header brings TorchScript and the
/// serialisation of whole modules, which every file here would compile for nothing.

#include <torch/ordered_dict.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace aplomb::train::model {

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Its own, then those of the parts below it, in the order in which they were registered.
  torch::OrderedDict<std::string, torch::Tensor> named_parameters() const;
  std::vector<torch::Tensor> parameters() const;
  /// All parts below it, each before those below that one.
  torch::OrderedDict<std::string, std::shared_ptr<Module>> named_modules() const;

  /// Of this and all parts below. Parts train when they are made.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  /// Gradients become undefined, or zero where they are to stay.
  void zero_grad(bool set_to_none = true);

 protected:
  torch::Tensor register_parameter(const std::string& name, torch::Tensor tensor,
                                   bool trains = true);
  /// Nothing happens where there is none of that name.
  void remove_parameter(const std::string& name);

  template <class Part>
  std::shared_ptr<Part> register_module(const std::string& name, std::shared_ptr<Part> part) {
    children_.insert(name, part);
    return part;
  }

 private:
  void collect(const std::string& prefix,
               torch::OrderedDict<std::string, torch::Tensor>& into) const;
  void collect(const std::string& prefix,
               torch::OrderedDict<std::string, std::shared_ptr<Module>>& into) const;

  torch::OrderedDict<std::string, torch::Tensor> parameters_;
  torch::OrderedDict<std::string, std::shared_ptr<Module>> children_;
  bool training_ = true;
};

}  // namespace aplomb::train::model
