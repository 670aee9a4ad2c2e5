#include "train/model/linear.h"

#include <cmath>
#include <limits>

namespace aplomb::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// One of the layers that share an input, as the autograd function sees it. Tensors of the adapter
/// stand in its list of trained tensors: A, B and, for DoRA, m.
struct Branch {
  Tensor weight;  ///< [O, I], compute dtype
  Tensor bias;    ///< [O], compute dtype, or undefined
  Tensor norms;   ///< [O], fp32; undefined for LoRA
  double scaling = 1;
};

/// Forward and backward of Linear layers with adapters over frozen weights. What autograd would do
/// in a dozen passes over [N, O] and [N, I] (scale, add, cast, sum of gradients) happens inside the
/// matrix products: `addmm` adds onto what is there.
class AdaptedLinears : public torch::autograd::Function<AdaptedLinears> {
 public:
  static variable_list forward(AutogradContext* ctx, const Tensor& x, at::TensorList trained,
                               const std::vector<Branch>& branches, double dropout) {
    const torch::Dtype compute = branches.front().weight.scalar_type();
    Tensor input = x;  // what A sees
    Tensor mask;
    if (dropout > 0) std::tie(input, mask) = at::native_dropout(x, dropout, true);
    variable_list kept = {input, mask};
    variable_list outputs;
    std::size_t at = 0;
    for (const Branch& branch : branches) {
      const Tensor a = trained[at].to(compute);
      const Tensor b = trained[at + 1].to(compute);
      const Tensor low = at::mm(input, a.t());  // [N, r]
      const bool plain = !branch.norms.defined();
      Tensor y = plain && branch.bias.defined() ? at::addmm(branch.bias, x, branch.weight.t())
                                                : at::mm(x, branch.weight.t());
      y.addmm_(low, b.t(), 1, branch.scaling);
      kept.insert(kept.end(), {branch.weight, a, b, low});
      if (!plain) {
        const Tensor gain = trained[at + 2] / branch.norms;
        kept.insert(kept.end(), {gain.to(compute), branch.norms, y});
        y = y * gain.to(compute);
        if (branch.bias.defined()) y.add_(branch.bias);
      }
      outputs.push_back(y);
      at += plain ? 2 : 3;
    }
    ctx->save_for_backward(kept);
    ctx->saved_data["scalings"] = scalings_of(branches);
    ctx->saved_data["dora"] = dora_of(branches);
    ctx->saved_data["keep"] = 1 - dropout;
    return outputs;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    const std::vector<double> scalings = ctx->saved_data["scalings"].toDoubleVector();
    const std::vector<std::int64_t> dora = ctx->saved_data["dora"].toIntVector();
    const Tensor& input = kept[0];
    const Tensor& mask = kept[1];
    Tensor dx;   // [N, I], through the weights
    Tensor low;  // [N, I], through the adapters; the same tensor where there is no dropout
    variable_list trained;
    std::size_t at = 2;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor &weight = kept[at], &a = kept[at + 1], &b = kept[at + 2], &u = kept[at + 3];
      Tensor dy = gradients[i];
      Tensor dm;
      if (dora[i] != 0) {
        const Tensor &gain = kept[at + 4], &norms = kept[at + 5], &z = kept[at + 6];
        dm = (dy * z).sum(0, false, torch::kFloat32) / norms;
        dy = dy * gain;
      }
      const Tensor du = at::mm(dy, b).mul_(scalings[i]);  // [N, r]
      trained.push_back(at::mm(du.t(), input).to(torch::kFloat32));
      trained.push_back(at::mm(dy.t(), u).mul_(scalings[i]).to(torch::kFloat32));
      if (dora[i] != 0) trained.push_back(dm);
      if (ctx->needs_input_grad(0)) {
        add_product(dx, dy, weight);
        add_product(mask.defined() ? low : dx, du, a);
      }
      at += dora[i] != 0 ? 7 : 4;
    }
    if (low.defined()) dx.add_(low.mul_(mask), 1 / ctx->saved_data["keep"].toDouble());
    variable_list all = {dx};
    all.insert(all.end(), trained.begin(), trained.end());
    all.insert(all.end(), 2, Tensor());  // branches, dropout
    return all;
  }

 private:
  static void add_product(Tensor& sum, const Tensor& left, const Tensor& right) {
    if (sum.defined()) {
      sum.addmm_(left, right);
    } else {
      sum = at::mm(left, right);
    }
  }
  static std::vector<double> scalings_of(const std::vector<Branch>& branches) {
    std::vector<double> all;
    for (const Branch& each : branches) all.push_back(each.scaling);
    return all;
  }
  static std::vector<std::int64_t> dora_of(const std::vector<Branch>& branches) {
    std::vector<std::int64_t> all;
    for (const Branch& each : branches) all.push_back(each.norms.defined() ? 1 : 0);
    return all;
  }
};

/// Layers with an adapter over a frozen weight, all with the same dropout: one autograd function.
bool can_fuse(const std::vector<const Linear*>& linears) {
  for (const Linear* each : linears) {
    if (each->adapter() == nullptr || each->weight.requires_grad()) return false;
    if (each->adapter()->dropout != linears.front()->adapter()->dropout) return false;
  }
  return true;
}

std::vector<Tensor> apply_adapted(const Tensor& rows, const std::vector<const Linear*>& linears,
                                  torch::Dtype compute) {
  std::vector<Branch> branches;
  variable_list trained;
  for (const Linear* each : linears) {
    const Adapter& adapter = *each->adapter();
    Branch branch{each->weight_as(compute), {}, {}, adapter.scaling};
    if (each->bias.defined()) branch.bias = each->bias.to(compute);
    trained.insert(trained.end(), {adapter.a, adapter.b});
    if (adapter.is_dora()) {
      branch.norms = each->adapted_row_norms();
      trained.push_back(adapter.magnitude);
    }
    branches.push_back(branch);
  }
  const bool training = linears.front()->is_training();
  return AdaptedLinears::apply(rows, at::TensorList(trained), branches,
                               training ? linears.front()->adapter()->dropout : 0.0);
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
  torch::nn::init::kaiming_uniform_(adapter_->a, std::sqrt(5.0));
  if (dora) adapter_->magnitude = register_parameter("lora_magnitude", adapted_row_norms().clone());
}

const Tensor& Linear::row_squares() const {
  if (!row_squares_.defined()) row_squares_ = weight.detach().to(torch::kFloat32).square().sum(1);
  return row_squares_;
}

Tensor Linear::adapted_row_norms() const {
  const torch::NoGradGuard no_grad;
  const Adapter& adapter = *adapter_;
  const Tensor& squares = row_squares();
  const Tensor cross = at::mm(weight.to(torch::kFloat32), adapter.a.t());  // [O, r]
  const Tensor gram = at::mm(adapter.a, adapter.a.t());                    // [r, r]
  // s B . (2 W A^T + s B A A^T), summed over r
  const Tensor both = at::addmm(cross, adapter.b, gram, 2, adapter.scaling);
  const Tensor sum = squares + (both * adapter.b).sum(1) * adapter.scaling;
  // Where W and s B A cancel, what is left of the difference is rounding: not below that.
  return sum.maximum(squares * std::numeric_limits<float>::epsilon()).sqrt();
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
  for (const char* name : {"lora_A", "lora_B", "lora_magnitude"}) {
    if (parameters_.contains(name)) parameters_.erase(name);
  }
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
    outputs = apply_adapted(input.reshape({-1, shape.back()}), linears, compute);
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

}  // namespace aplomb::train
