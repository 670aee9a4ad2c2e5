#include "train/model/linear.h"

#include <cmath>

#include "train/model/adapted_linears.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;

/// Layers with an adapter over a frozen weight, all with the same dropout: one autograd function.
bool can_fuse(const std::vector<const Linear*>& linears) {
  for (const Linear* each : linears) {
    if (each->adapter() == nullptr || each->weight.requires_grad()) return false;
    if (each->adapter()->dropout != linears.front()->adapter()->dropout) return false;
  }
  return true;
}

AdaptedLinear in_force(const Linear& linear, torch::Dtype compute) {
  const Adapter& adapter = *linear.adapter();
  AdaptedLinear out{linear.weight_as(compute), {}, adapter.a,      adapter.b,
                    adapter.magnitude,         {}, adapter.scaling};
  if (linear.bias.defined()) out.bias = linear.bias.to(compute);
  if (adapter.is_dora()) out.squares = linear.row_squares();
  return out;
}

}  // namespace

Linear::Linear(std::int64_t inputs, std::int64_t outputs, bool with_bias,
               const torch::TensorOptions& options) {
  weight = register_parameter("weight", torch::empty({outputs, inputs}, options), false);
  if (with_bias) bias = register_parameter("bias", torch::empty({outputs}, options), false);
}

void Linear::attach(std::int64_t rank, double scaling, double dropout, bool dora) {
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(weight.device()).dtype(torch::kFloat32);
  adapter_ = std::make_unique<Adapter>();
  adapter_->scaling = scaling;
  adapter_->dropout = dropout;
  adapter_->a = register_parameter("lora_A", torch::empty({rank, weight.size(1)}, options));
  adapter_->b = register_parameter("lora_B", torch::zeros({weight.size(0), rank}, options));
  // nn.Linear's: Kaiming with a = sqrt(5).
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  adapter_->a.uniform_(-bound, bound);
  // B is zero, so the norms are those of the weight alone.
  if (dora) adapter_->magnitude = register_parameter("lora_magnitude", row_squares().sqrt());
}

const Tensor& Linear::row_squares() const {
  if (!row_squares_.defined()) row_squares_ = weight.detach().to(torch::kFloat32).square().sum(1);
  return row_squares_;
}

Tensor Linear::adapted_row_norms() const {
  const torch::NoGradGuard no_grad;
  const Adapter& adapter = *adapter_;
  const Tensor cross = at::mm(adapter.a, weight.detach().to(torch::kFloat32).t());
  return train::model::adapted_row_norms(cross, adapter.a, adapter.b, row_squares(),
                                         adapter.scaling);
}

Tensor Linear::merged_weight() const {
  const torch::NoGradGuard no_grad;
  Tensor merged = weight.detach().to(torch::kFloat32);
  if (adapter_ == nullptr) return merged;
  merged = at::addmm(merged, adapter_->b, adapter_->a, 1, adapter_->scaling);
  if (adapter_->is_dora()) merged.mul_((adapter_->magnitude / adapted_row_norms()).unsqueeze(1));
  return merged;
}

void Linear::merge() {
  if (adapter_ == nullptr) return;
  const torch::NoGradGuard no_grad;
  weight.copy_(merged_weight());
  adapter_.reset();
  for (const char* name : {"lora_A", "lora_B", "lora_magnitude"}) remove_parameter(name);
  copy_ = Tensor();
  row_squares_ = Tensor();
}

Tensor Linear::weight_as(torch::Dtype dtype) const {
  if (weight.scalar_type() == dtype) return weight;
  if (weight.requires_grad()) return weight.to(dtype);
  if (!copy_.defined() || copy_.scalar_type() != dtype) copy_ = weight.detach().to(dtype);
  return copy_;
}

std::vector<Tensor> apply_linears(const Tensor& x, const std::vector<const Linear*>& linears,
                                  torch::Dtype compute) {
  const Tensor input = x.to(compute);
  std::vector<std::int64_t> shape = x.sizes().vec();
  std::vector<Tensor> outputs;
  if (can_fuse(linears)) {
    std::vector<AdaptedLinear> layers;
    for (const Linear* each : linears) layers.push_back(in_force(*each, compute));
    const bool training = linears.front()->is_training();
    outputs = apply_adapted(input.reshape({-1, shape.back()}), layers,
                            training ? linears.front()->adapter()->dropout : 0.0);
    for (Tensor& each : outputs) {
      shape.back() = each.size(1);
      each = each.view(shape);
    }
    return outputs;
  }
  for (const Linear* each : linears) {
    if (each->adapter() != nullptr) {
      outputs.push_back(apply_linears(x, {each}, compute).front());
      continue;
    }
    const Tensor bias = each->bias.defined() ? each->bias.to(compute) : Tensor();
    outputs.push_back(torch::linear(input, each->weight_as(compute), bias));
  }
  return outputs;
}

}  // namespace aplomb::train::model
