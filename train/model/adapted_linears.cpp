/// Shape legend: N tokens, I inputs, O outputs, r rank, R sum of the layers' ranks.

#include "train/model/adapted_linears.h"

#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "train/model/ops.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the way back needs of every layer, in the order in which they are saved.
enum Kept : std::size_t { k_weight, k_up, k_gain, k_norms, k_unscaled, k_kept_a_layer };
/// And once: the adapters' input, dropout's mask, all A, all A x^T.
enum KeptOnce : std::size_t { k_input, k_mask, k_a, k_low, k_kept_once };

void add_product(Tensor& sum, const Tensor& left, const Tensor& right) {
  if (sum.defined()) {
    sum.addmm_(left, right);
  } else {
    sum = at::mm(left, right);
  }
}

/// s B^T, [r, O].
Tensor scaled_up(const AdaptedLinear& layer, torch::Dtype compute) {
  return (layer.b * layer.scaling).t().contiguous().to(compute);
}

/// [R, I]
Tensor all_down(const std::vector<AdaptedLinear>& layers, torch::Dtype compute) {
  std::vector<Tensor> all;
  for (const AdaptedLinear& each : layers) all.push_back(each.a);
  return (all.size() == 1 ? all.front() : at::cat(all)).to(compute);
}

/// x W^T of layer after layer, and for DoRA the rows' norms out of the same product.
class Products {
 public:
  Products(const Tensor& x, const std::vector<AdaptedLinear>& layers) : x_(x) {
    std::int64_t below = 0;
    for (const AdaptedLinear& each : layers) {
      if (each.magnitude.defined()) below = std::max(below, each.a.size(0));
    }
    if (below == 0) return;
    stack_ = at::empty({x.size(0) + below, x.size(1)}, x.options());
    stack_.narrow(0, 0, x.size(0)).copy_(x);
  }

  struct WithNorms {
    Tensor y;      ///< [N, O]
    Tensor norms;  ///< [O]
  };
  WithNorms with_norms(const AdaptedLinear& layer) {
    const std::int64_t rows = x_.size(0), rank = layer.a.size(0);
    stack_.narrow(0, rows, rank).copy_(layer.a);
    const Tensor both = at::mm(stack_.narrow(0, 0, rows + rank), layer.weight.t());
    const Tensor cross = both.narrow(0, rows, rank).to(torch::kFloat32);
    return {both.narrow(0, 0, rows),
            adapted_row_norms(cross, layer.a, layer.b, layer.squares, layer.scaling)};
  }
  Tensor plain(const AdaptedLinear& layer) const {
    return layer.bias.defined() ? at::addmm(layer.bias, x_, layer.weight.t())
                                : at::mm(x_, layer.weight.t());
  }

 private:
  const Tensor& x_;
  Tensor stack_;  ///< x, and room for A below it
};

class AdaptedLinears : public torch::autograd::Function<AdaptedLinears> {
 public:
  /// `trained`: A, B and, for DoRA, the magnitude of every layer, for autograd to see.
  static variable_list forward(AutogradContext* ctx, const Tensor& x, at::TensorList /*trained*/,
                               const std::vector<AdaptedLinear>& layers, double dropout) {
    const torch::Dtype compute = layers.front().weight.scalar_type();
    Tensor input = x;  // what A sees
    Tensor mask;
    if (dropout > 0) std::tie(input, mask) = at::native_dropout(x, dropout, true);
    const Tensor a = all_down(layers, compute);
    const Tensor low = at::mm(a, input.t());  // [R, N]
    variable_list kept = {input, mask, a, low};
    variable_list outputs;
    std::vector<double> scalings;
    std::int64_t row = 0;
    Products products(x, layers);
    for (const AdaptedLinear& layer : layers) {
      const Tensor up = scaled_up(layer, compute);
      const bool plain = !layer.magnitude.defined();
      auto [y, norms] =
          plain ? Products::WithNorms{products.plain(layer), {}} : products.with_norms(layer);
      y.addmm_(low.narrow(0, row, up.size(0)).t(), up);
      kept.insert(kept.end(), {layer.weight, up});
      if (plain) {
        kept.insert(kept.end(), 3, Tensor());
      } else {
        const Tensor gain = layer.magnitude / norms;
        kept.insert(kept.end(), {gain, norms, y});
        y = scale_columns(y, gain, layer.bias);
      }
      outputs.push_back(y);
      scalings.push_back(layer.scaling);
      row += up.size(0);
    }
    ctx->save_for_backward(kept);
    ctx->saved_data["scalings"] = scalings;
    ctx->saved_data["keep"] = 1 - dropout;
    return outputs;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    const std::vector<double> scalings = ctx->saved_data["scalings"].toDoubleVector();
    const Tensor &input = kept[k_input], &mask = kept[k_mask], &a = kept[k_a], &low = kept[k_low];
    const bool wants_x = ctx->needs_input_grad(0);
    const Tensor du = at::empty_like(low);  // [R, N]
    Tensor dx;                              // [N, I], through the weights
    variable_list db, dm;
    std::int64_t row = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor* const layer = &kept[k_kept_once + i * k_kept_a_layer];
      Tensor dy = gradients[i];
      dm.emplace_back();
      if (layer[k_gain].defined()) {
        const ColumnScaleGradients found =
            scale_columns_backward(dy, layer[k_unscaled], layer[k_gain]);
        dm.back() = found.gain / layer[k_norms];
        dy = found.x;
      }
      const Tensor& up = layer[k_up];
      Tensor own_du = du.narrow(0, row, up.size(0));
      at::mm_out(own_du, up, dy.t());
      const Tensor own_low = low.narrow(0, row, up.size(0));
      db.push_back(at::mm(own_low, dy).to(torch::kFloat32).mul_(scalings[i]).t().contiguous());
      if (wants_x) add_product(dx, dy, layer[k_weight]);
      row += up.size(0);
    }
    if (wants_x && !mask.defined()) {
      dx.addmm_(du.t(), a);
    } else if (wants_x) {
      dx.add_(at::mm(du.t(), a).mul_(mask), 1 / ctx->saved_data["keep"].toDouble());
    }
    return in_order(dx, at::mm(du, input).to(torch::kFloat32), db, dm);
  }

 private:
  /// As forward() takes its arguments: x, the trained tensors, layers, dropout.
  static variable_list in_order(const Tensor& dx, const Tensor& da, const variable_list& db,
                                const variable_list& dm) {
    variable_list all = {dx};
    std::int64_t row = 0;
    for (std::size_t i = 0; i < db.size(); ++i) {
      const std::int64_t rank = db[i].size(1);
      all.insert(all.end(), {da.narrow(0, row, rank), db[i]});
      if (dm[i].defined()) all.push_back(dm[i]);
      row += rank;
    }
    all.insert(all.end(), 2, Tensor());
    return all;
  }
};

}  // namespace

Tensor adapted_row_norms(const Tensor& cross, const Tensor& a, const Tensor& b,
                         const Tensor& squares, double scaling) {
  const torch::NoGradGuard no_grad;
  const Tensor up = b.t();               // [r, O]
  const Tensor gram = at::mm(a, a.t());  // [r, r]
  // B . (2 W A^T + s B A A^T), summed over r
  const Tensor both = at::addmm(cross, gram, up, 2, scaling);
  const Tensor sum = squares + (both * up).sum(0) * scaling;
  // Where W and s B A cancel, what is left of the difference is rounding: not below that.
  return sum.maximum(squares * std::numeric_limits<float>::epsilon()).sqrt();
}

std::vector<Tensor> apply_adapted(const Tensor& x, const std::vector<AdaptedLinear>& layers,
                                  double dropout) {
  variable_list trained;
  for (const AdaptedLinear& each : layers) {
    trained.insert(trained.end(), {each.a, each.b});
    if (each.magnitude.defined()) trained.push_back(each.magnitude);
  }
  return AdaptedLinears::apply(x, at::TensorList(trained), layers, dropout);
}

}  // namespace aplomb::train::model
