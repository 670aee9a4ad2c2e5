#include "train/model/ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/Parallel.h>

#include <algorithm>

#include "train/model/cpu_kernels.h"
#include "train/model/cpu_reals.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RmsNormOnCpu : public torch::autograd::Function<RmsNormOnCpu> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, double eps,
                        torch::Dtype out) {
    const Tensor rows = x.contiguous(), scale = weight.to(torch::kFloat32).contiguous();
    const std::int64_t features = x.size(-1), count = x.numel() / features;
    const Tensor y = torch::empty(x.sizes(), x.options().dtype(out));
    const Tensor inverse = torch::empty({count}, torch::kFloat32);
    at::parallel_for(0, count, rows_a_thread(features), [&](std::int64_t begin, std::int64_t end) {
      RmsNormRows work{reals(rows, begin * features), reals(y, begin * features)};
      work.weight = scale.const_data_ptr<float>();
      work.inverse = inverse.data_ptr<float>() + begin;
      work.rows = static_cast<std::size_t>(end - begin);
      work.features = static_cast<std::size_t>(features);
      work.eps = static_cast<float>(eps);
      rms_norm_rows(work);
    });
    ctx->save_for_backward({rows, scale, inverse, weight});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    const Tensor &rows = kept[0], &scale = kept[1], &inverse = kept[2];
    const Tensor d_out = gradients[0].contiguous();
    const std::int64_t features = rows.size(-1), count = rows.numel() / features;
    const Tensor dx = torch::empty_like(rows);
    const bool wants_weight = ctx->needs_input_grad(1);
    // One sum a thread, joined in the threads' order: the same result every time.
    const Tensor d_weight =
        torch::zeros({wants_weight ? at::get_num_threads() : 0, features}, torch::kFloat32);
    at::parallel_for(0, count, rows_a_thread(features), [&](std::int64_t begin, std::int64_t end) {
      RmsNormBackRows work{reals(rows, begin * features), reals(d_out, begin * features),
                           reals(dx, begin * features)};
      work.weight = scale.const_data_ptr<float>();
      work.inverse = inverse.const_data_ptr<float>() + begin;
      if (wants_weight)
        work.d_weight = d_weight.data_ptr<float>() + at::get_thread_num() * features;
      work.rows = static_cast<std::size_t>(end - begin);
      work.features = static_cast<std::size_t>(features);
      rms_norm_back_rows(work);
    });
    const Tensor for_weight = wants_weight ? d_weight.sum(0).to(kept[3].scalar_type()) : Tensor();
    return {dx, for_weight, Tensor(), Tensor()};
  }
};

class SwigluOnCpu : public torch::autograd::Function<SwigluOnCpu> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up) {
    const Tensor g = gate.contiguous(), u = up.contiguous();
    const Tensor out = torch::empty_like(g);
    at::parallel_for(0, g.numel(), k_grain, [&](std::int64_t begin, std::int64_t end) {
      swiglu_run(reals(g, begin), reals(u, begin), reals(out, begin),
                 static_cast<std::size_t>(end - begin));
    });
    ctx->save_for_backward({g, u});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    const Tensor &g = kept[0], &u = kept[1];
    const Tensor d_out = gradients[0].to(g.scalar_type()).contiguous();
    const Tensor d_gate = torch::empty_like(g), d_up = torch::empty_like(u);
    at::parallel_for(0, g.numel(), k_grain, [&](std::int64_t begin, std::int64_t end) {
      swiglu_back_run(reals(g, begin), reals(u, begin), reals(d_out, begin), reals(d_gate, begin),
                      reals(d_up, begin), static_cast<std::size_t>(end - begin));
    });
    return {d_gate, d_up};
  }
};

/// [B, T, H, D] whose tokens lie at one distance, with their heads together.
bool has_token_rows(const Tensor& x) {
  return x.stride(3) == 1 && x.stride(2) == x.size(3) && x.stride(0) == x.size(1) * x.stride(1);
}

Tensor rotate_on_cpu(const Tensor& given, const Tensor& positions, const Tensor& cos,
                     const Tensor& sin, bool backward) {
  const Tensor x = has_token_rows(given) ? given : given.contiguous();
  const std::int64_t tokens = x.size(0) * x.size(1), width = x.size(2) * x.size(3),
                     stride = x.stride(1);
  const Tensor out = torch::empty(x.sizes(), x.options());
  at::parallel_for(0, tokens, rows_a_thread(width), [&](std::int64_t begin, std::int64_t end) {
    RotateRows work{reals(x, begin * stride), reals(out, begin * width)};
    work.positions = positions.const_data_ptr<std::int64_t>() + begin;
    work.cos = cos.const_data_ptr<float>();
    work.sin = sin.const_data_ptr<float>();
    work.tokens = static_cast<std::size_t>(end - begin);
    work.heads = static_cast<std::size_t>(x.size(2));
    work.dims = static_cast<std::size_t>(x.size(3));
    work.stride = static_cast<std::size_t>(stride);
    work.backward = backward;
    rotate_rows(work);
  });
  return out;
}

class RotateOnCpu : public torch::autograd::Function<RotateOnCpu> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& positions,
                        const Tensor& cos, const Tensor& sin) {
    ctx->save_for_backward({positions, cos, sin});
    return rotate_on_cpu(x, positions, cos, sin, false);
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    return {rotate_on_cpu(gradients[0], kept[0], kept[1], kept[2], true), Tensor(), Tensor(),
            Tensor()};
  }
};

/// What every device and dtype can do: plain operations under autograd.
Tensor rms_norm_anywhere(const Tensor& x, const Tensor& weight, double eps, torch::Dtype out) {
  const Tensor wide = x.to(torch::kFloat32);
  const Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + eps);
  return (wide * scale * weight.to(torch::kFloat32)).to(out);
}

Tensor rotate_anywhere(const Tensor& x, const Tensor& positions, const RopeTable& table) {
  const Tensor cos = table.cos.index({positions}).unsqueeze(2);  // [B, T, 1, D / 2]
  const Tensor sin = table.sin.index({positions}).unsqueeze(2);
  const std::vector<Tensor> halves = x.to(torch::kFloat32).chunk(2, -1);
  const Tensor turned =
      torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
  return turned.to(x.scalar_type());
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps, torch::Dtype out) {
  if (has_reals(x) && is_real(out)) return RmsNormOnCpu::apply(x, weight, eps, out);
  return rms_norm_anywhere(x, weight, eps, out);
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  if (has_reals(gate) && up.scalar_type() == gate.scalar_type())
    return SwigluOnCpu::apply(gate, up);
  return (torch::silu(gate.to(torch::kFloat32)) * up.to(torch::kFloat32)).to(gate.scalar_type());
}

Tensor rotate(const Tensor& x, const Tensor& positions, const RopeTable& table) {
  if (has_reals(x)) return RotateOnCpu::apply(x, positions, table.cos, table.sin);
  return rotate_anywhere(x, positions, table);
}

Tensor scale_columns(const Tensor& x, const Tensor& gain, const Tensor& bias) {
  if (!has_reals(x)) {
    const Tensor wide = x.to(torch::kFloat32) * gain;
    return (bias.defined() ? wide + bias : wide).to(x.scalar_type());
  }
  const Tensor rows = x.contiguous(), scale = gain.contiguous();
  const Tensor shift = bias.defined() ? bias.to(torch::kFloat32).contiguous() : Tensor();
  const std::int64_t features = x.size(-1);
  const Tensor out = torch::empty(x.sizes(), x.options());
  at::parallel_for(
      0, x.numel() / features, rows_a_thread(features), [&](std::int64_t begin, std::int64_t end) {
        ScaleColumnsRows work{reals(rows, begin * features), reals(out, begin * features)};
        work.gain = scale.const_data_ptr<float>();
        if (shift.defined()) work.bias = shift.const_data_ptr<float>();
        work.rows = static_cast<std::size_t>(end - begin);
        work.features = static_cast<std::size_t>(features);
        scale_columns_rows(work);
      });
  return out;
}

ColumnScaleGradients scale_columns_backward(const Tensor& d_out, const Tensor& x,
                                            const Tensor& gain) {
  if (!has_reals(x)) {
    const Tensor wide = d_out.to(torch::kFloat32);
    return {(wide * gain).to(x.scalar_type()), (wide * x).sum(0, false, torch::kFloat32)};
  }
  const Tensor rows = x.contiguous(), scale = gain.contiguous();
  const Tensor above = d_out.to(x.scalar_type()).contiguous();
  const std::int64_t features = x.size(-1);
  const Tensor dx = torch::empty(x.sizes(), x.options());
  // One sum a thread, joined in the threads' order: the same result every time.
  const Tensor d_gain = torch::zeros({at::get_num_threads(), features}, torch::kFloat32);
  at::parallel_for(
      0, x.numel() / features, rows_a_thread(features), [&](std::int64_t begin, std::int64_t end) {
        ScaleColumnsBackRows work{reals(rows, begin * features), reals(above, begin * features),
                                  reals(dx, begin * features)};
        work.gain = scale.const_data_ptr<float>();
        work.d_gain = d_gain.data_ptr<float>() + at::get_thread_num() * features;
        work.rows = static_cast<std::size_t>(end - begin);
        work.features = static_cast<std::size_t>(features);
        scale_columns_back_rows(work);
      });
  return {dx, d_gain.sum(0)};
}

}  // namespace aplomb::train::model
