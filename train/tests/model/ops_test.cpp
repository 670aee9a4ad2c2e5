#include "train/model/ops.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "train/model/cross_entropy.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;

/// Value and gradients of f(inputs), with a fixed gradient from above.
std::vector<Tensor> value_and_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                        std::vector<Tensor> inputs) {
  for (Tensor& each : inputs) each = each.detach().requires_grad_(true);
  const Tensor value = f(inputs);
  const Tensor above =
      torch::sin(torch::arange(value.numel(), torch::kFloat32)).view(value.sizes());
  std::vector<Tensor> all = torch::autograd::grad({value}, inputs, {above.to(value.scalar_type())});
  all.insert(all.begin(), value.detach());
  return all;
}

/// Equal up to what one rounding of the coarsest format costs.
void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                  double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].sizes(), wanted[i].sizes());
    const double most = wanted[i].abs().max().to(torch::kFloat64).item<double>();
    const double off =
        (found[i].to(torch::kFloat64) - wanted[i].to(torch::kFloat64)).abs().max().item<double>();
    EXPECT_LE(off, tolerance * most) << "tensor " << i;
  }
}

double tolerance_of(torch::Dtype dtype) { return dtype == torch::kFloat32 ? 2e-6 : 8e-3; }

class Formats : public testing::TestWithParam<std::tuple<torch::Dtype, int>> {
 protected:
  void SetUp() override { torch::manual_seed(1); }
  torch::Dtype dtype() const { return std::get<0>(GetParam()); }
  int width() const { return std::get<1>(GetParam()); }
  Tensor random(at::IntArrayRef shape) const { return torch::randn(shape).to(dtype()); }
};

// Widths below, at and beside whole vectors of every SIMD target.
INSTANTIATE_TEST_SUITE_P(All, Formats,
                         testing::Combine(testing::Values(torch::kFloat32, torch::kBFloat16),
                                          testing::Values(2, 6, 16, 34, 64, 130)));

TEST_P(Formats, rms_norm_equals_its_formula) {
  for (const torch::Dtype out : {torch::kFloat32, torch::kBFloat16}) {
    const std::vector<Tensor> inputs = {random({3, 5, width()}), torch::randn({width()})};
    const auto found = value_and_gradients(
        [&](const auto& in) { return rms_norm(in[0], in[1], 1e-5, out); }, inputs);
    const auto wanted = value_and_gradients(
        [&](const auto& in) {
          const Tensor x = in[0].to(torch::kFloat64);
          return (x * torch::rsqrt(x.square().mean(-1, true) + 1e-5) * in[1]).to(out);
        },
        inputs);
    expect_close(found, wanted, std::max(tolerance_of(dtype()), tolerance_of(out)));
  }
}

TEST_P(Formats, swiglu_equals_its_formula) {
  const std::vector<Tensor> inputs = {random({7, width()}) * 20, random({7, width()})};
  const auto found =
      value_and_gradients([](const auto& in) { return swiglu(in[0], in[1]); }, inputs);
  const auto wanted = value_and_gradients(
      [&](const auto& in) {
        return (torch::silu(in[0].to(torch::kFloat64)) * in[1].to(torch::kFloat64)).to(dtype());
      },
      inputs);
  expect_close(found, wanted, tolerance_of(dtype()));
}

TEST_P(Formats, scale_columns_equals_its_formula_and_so_do_its_gradients) {
  const Tensor x = random({7, width()}), above = random({7, width()});
  const Tensor gain = torch::randn({width()}), bias = random({width()});
  const Tensor exact = x.to(torch::kFloat64) * gain;
  expect_close({scale_columns(x, gain, {}), scale_columns(x, gain, bias)},
               {exact.to(dtype()), (exact + bias).to(dtype())}, tolerance_of(dtype()));
  // As a column block of a wider product hands it over.
  const Tensor wide = torch::cat({above, above}, 1).narrow(1, width(), width());
  const ColumnScaleGradients found = scale_columns_backward(wide, x, gain);
  EXPECT_EQ(found.x.scalar_type(), dtype());
  const Tensor d_out = above.to(torch::kFloat64);
  expect_close({found.x, found.gain}, {(d_out * gain).to(dtype()), (d_out * x).sum(0)},
               tolerance_of(dtype()));
}

TEST_P(Formats, rotate_turns_pairs_by_their_position) {
  const Tensor angles = torch::rand({9, width() / 2}) * 6;
  const RopeTable table{angles.cos(), angles.sin()};
  const Tensor positions = torch::randint(0, 9, {2, 4}, torch::kInt64);
  const std::vector<Tensor> inputs = {random({2, 4, 3, width()})};
  const auto turn = [&](const auto& in) {
    const Tensor cos = table.cos.index({positions}).unsqueeze(2),
                 sin = table.sin.index({positions}).unsqueeze(2);
    const auto halves = in[0].to(torch::kFloat64).chunk(2, -1);
    return torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1)
        .to(dtype());
  };
  const auto found =
      value_and_gradients([&](const auto& in) { return rotate(in[0], positions, table); }, inputs);
  expect_close(found, value_and_gradients(turn, inputs), tolerance_of(dtype()));
  // Heads in the middle of a wider row, as a part of one product's output.
  const Tensor wide = random({2, 4, 5, width()});
  expect_close({rotate(wide.narrow(2, 1, 3), positions, table)},
               {rotate(wide.narrow(2, 1, 3).contiguous(), positions, table)}, 0);
}

TEST_P(Formats, cross_entropy_equals_its_formula_whatever_the_chunk) {
  const Tensor targets = torch::randint(0, width(), {11}, torch::kInt64);
  const std::vector<Tensor> inputs = {random({11, 8}), random({width(), 8})};
  for (const double z : {0.0, 0.1}) {
    const auto wanted = value_and_gradients(
        [&](const auto& in) {
          const Tensor logits = torch::mm(in[0], in[1].t()).to(torch::kFloat32);
          const Tensor log_z = logits.logsumexp(1);
          const Tensor chosen = logits.gather(1, targets.unsqueeze(1)).squeeze(1);
          return (log_z - chosen).sum() + (log_z * log_z).sum() * z;
        },
        inputs);
    for (const std::int64_t chunk : {1, 4, 11, 100}) {
      const auto found = value_and_gradients(
          [&](const auto& in) { return cross_entropy(in[0], in[1], targets, z, chunk).total; },
          inputs);
      expect_close(found, wanted, 2 * tolerance_of(dtype()));
    }
  }
}

TEST_P(Formats, nothing_hides_a_nan) {
  Tensor x = random({2, width()});
  x[1][width() - 1] = std::numeric_limits<float>::quiet_NaN();
  const Tensor normed = rms_norm(x, torch::ones({width()}), 1e-5, torch::kFloat32);
  EXPECT_TRUE(normed[0].isfinite().all().item<bool>());
  EXPECT_TRUE(normed[1].isnan().all().item<bool>());
  const auto bits = rms_norm(x, torch::ones({width()}), 1e-5, torch::kBFloat16);
  EXPECT_TRUE(bits[1].isnan().all().item<bool>());
  const Tensor up = torch::ones_like(x);
  EXPECT_TRUE(swiglu(x, up)[1][width() - 1].isnan().item<bool>());
  EXPECT_TRUE(swiglu(up, x)[1][width() - 1].isnan().item<bool>());
  const Tensor targets = torch::zeros({2}, torch::kInt64);
  for (int column = 0; column < width(); ++column) {
    Tensor head = torch::randn({width(), width()}).to(dtype());
    head[column][0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(
        cross_entropy(random({2, width()}), head, targets, 0, 0).total.isnan().item<bool>());
  }
}

TEST(Ops, silu_of_huge_gates_stays_in_range) {
  const Tensor gate = torch::tensor({-1e30F, -200.0F, 200.0F, 1e30F});
  const Tensor out = swiglu(gate, torch::ones({4}));
  EXPECT_EQ(out[2].item<float>(), 200.0F);
  EXPECT_EQ(out[3].item<float>(), 1e30F);
  EXPECT_LE(std::abs(out[1].item<float>()), 1e-30F);
}

}  // namespace
}  // namespace aplomb::train::model
