#include "train/model/linear.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "train/model/gradient_checkpointing.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;

/// A layer [6 -> 5] with an adapter of rank 3 that changes something.
std::shared_ptr<Linear> make(bool dora, double dropout, bool bias = true) {
  torch::manual_seed(1);
  auto linear = std::make_shared<Linear>(6, 5, bias, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  linear->weight.normal_();
  if (bias) linear->bias.normal_();
  linear->attach(3, 0.5, dropout, dora);
  for (Tensor& each : linear->parameters()) {
    if (each.requires_grad()) each.add_(torch::randn_like(each) * 0.3);
  }
  return linear;
}

/// y as the papers write it, built from whole matrices.
Tensor by_the_paper(const Linear& linear, const Tensor& x, const Tensor& dropped) {
  const Adapter& adapter = *linear.adapter();
  Tensor y = torch::mm(x, linear.weight.t()) +
             0.5 * torch::mm(torch::mm(dropped, adapter.a.t()), adapter.b.t());
  if (adapter.is_dora()) {
    const Tensor whole = (linear.weight + 0.5 * torch::mm(adapter.b, adapter.a)).detach();
    y = y * (adapter.magnitude / whole.norm(2, 1));
  }
  return y + linear.bias;
}

std::vector<Tensor> trained(const Linear& linear) {
  std::vector<Tensor> all;
  for (const Tensor& each : linear.parameters()) {
    if (each.requires_grad()) all.push_back(each);
  }
  return all;
}

TEST(Linear, adapters_follow_their_papers) {
  for (const bool dora : {false, true}) {
    const auto linear = make(dora, 0);
    const Tensor x = torch::randn({7, 6}).requires_grad_(true);
    std::vector<Tensor> inputs = trained(*linear);
    EXPECT_EQ(inputs.size(), dora ? 3U : 2U);
    inputs.push_back(x);
    const Tensor above = torch::randn({7, 5});
    const Tensor y = apply_linears(x, {linear.get()}, torch::kFloat32).front();
    const Tensor wanted = by_the_paper(*linear, x, x);
    EXPECT_TRUE(torch::allclose(y, wanted, 1e-5, 1e-5));
    const auto found = torch::autograd::grad({y}, inputs, {above});
    const auto expected = torch::autograd::grad({wanted}, inputs, {above});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(torch::allclose(found[i], expected[i], 1e-4, 1e-5))
          << "input " << i << (dora ? " dora" : " lora");
    }
  }
}

TEST(Linear, the_norm_by_algebra_is_that_of_the_whole_matrix) {
  const auto linear = make(true, 0);
  const Tensor whole = linear->weight + 0.5 * torch::mm(linear->adapter()->b, linear->adapter()->a);
  EXPECT_TRUE(torch::allclose(linear->adapted_row_norms(), whole.norm(2, 1), 1e-5, 1e-6));
}

TEST(Linear, a_fresh_adapter_changes_nothing) {
  for (const bool dora : {false, true}) {
    Linear linear(6, 5, false, torch::kFloat32);
    linear.weight.detach().normal_();
    const Tensor x = torch::randn({2, 3, 6});
    const Tensor before = apply_linears(x, {&linear}, torch::kFloat32).front();
    linear.attach(2, 2, 0, dora);
    EXPECT_TRUE(
        torch::allclose(apply_linears(x, {&linear}, torch::kFloat32).front(), before, 1e-5, 1e-6));
  }
}

TEST(Linear, merging_keeps_the_function) {
  for (const bool dora : {false, true}) {
    const auto linear = make(dora, 0.5);
    linear->eval();
    const Tensor x = torch::randn({4, 6});
    const Tensor before = apply_linears(x, {linear.get()}, torch::kFloat32).front().detach();
    linear->merge();
    EXPECT_EQ(linear->adapter(), nullptr);
    EXPECT_EQ(linear->named_parameters().size(), 2U);
    EXPECT_TRUE(torch::allclose(apply_linears(x, {linear.get()}, torch::kFloat32).front(), before,
                                1e-4, 1e-5));
  }
}

TEST(Linear, dropout_falls_on_the_adapter_alone_and_keeps_the_mean) {
  const auto linear = make(false, 0.5);
  const Tensor x = torch::randn({1, 6}).expand({20000, 6}).contiguous().requires_grad_(true);
  const Tensor y = apply_linears(x, {linear.get()}, torch::kFloat32).front();
  EXPECT_GT(y.std(0).max().item<float>(), 0.01);
  const Tensor plain = by_the_paper(*linear, x, x);
  EXPECT_TRUE(torch::allclose(y.mean(0), plain[0], 0.05, 0.05));
  // The same in the gradient of x: on the mean, that of the plain adapter.
  const auto found = torch::autograd::grad({y.sum()}, {x})[0];
  const auto wanted = torch::autograd::grad({plain.sum()}, {x})[0];
  EXPECT_TRUE(torch::allclose(found.mean(0), wanted.mean(0), 0.05, 0.05));
  linear->eval();
  EXPECT_TRUE(torch::allclose(apply_linears(x, {linear.get()}, torch::kFloat32).front(), plain,
                              1e-5, 1e-5));
}

TEST(Linear, layers_that_share_their_input_give_what_they_give_alone) {
  const auto one = make(true, 0), other = make(false, 0);
  const Tensor x = torch::randn({4, 6}).requires_grad_(true);
  const auto both = apply_linears(x, {one.get(), other.get()}, torch::kFloat32);
  const Tensor first = apply_linears(x, {one.get()}, torch::kFloat32).front();
  const Tensor second = apply_linears(x, {other.get()}, torch::kFloat32).front();
  // Together A x^T is one product with more rows, which may add up in another order.
  EXPECT_TRUE(torch::allclose(both[0], first, 1e-6, 1e-6));
  EXPECT_TRUE(torch::allclose(both[1], second, 1e-6, 1e-6));
  const auto together = torch::autograd::grad({(both[0] + both[1]).sum()}, {x})[0];
  const auto alone = torch::autograd::grad({(first + second).sum()}, {x})[0];
  EXPECT_TRUE(torch::allclose(together, alone, 1e-5, 1e-5));
}

TEST(Linear, parameters_that_train_stay_fp32_over_a_bf16_base) {
  Linear linear(16, 8, true, torch::kBFloat16);
  linear.weight.detach().normal_();
  linear.bias.detach().zero_();
  linear.attach(4, 1, 0, true);
  const Tensor y = apply_linears(torch::randn({5, 16}), {&linear}, torch::kBFloat16).front();
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  y.sum().backward();
  for (const Tensor& each : trained(linear)) {
    EXPECT_EQ(each.scalar_type(), torch::kFloat32);
    EXPECT_EQ(each.grad().scalar_type(), torch::kFloat32);
  }
}

TEST(GradientCheckpointing, repeats_the_random_numbers_of_the_first_run) {
  const auto linear = make(false, 0.5);
  const auto run = [&](const Tensor& x) {
    return apply_linears(x, {linear.get()}, torch::kFloat32).front().sin();
  };
  const auto gradients = [&](bool checkpointed) {
    torch::manual_seed(7);
    const Tensor x = torch::ones({9, 6}).requires_grad_(true);
    std::vector<Tensor> inputs = trained(*linear);
    const Tensor y = checkpointed ? run_checkpointed(run, x, inputs) : run(x);
    const Tensor after = torch::rand({3});  // what comes later sees no difference either
    inputs.push_back(x);
    auto found = torch::autograd::grad({y.square().sum()}, inputs);
    found.push_back(y.detach());
    found.push_back(after);
    found.push_back(torch::rand({3}));
    return found;
  };
  const auto plain = gradients(false), checkpointed = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(torch::equal(plain[i], checkpointed[i])) << i;
}

TEST(GradientCheckpointing, works_where_only_parameters_train) {
  const auto linear = make(false, 0);
  const Tensor x = torch::ones({2, 6});
  const auto run = [&](const Tensor& in) {
    return apply_linears(in, {linear.get()}, torch::kFloat32).front();
  };
  run_checkpointed(run, x, trained(*linear)).sum().backward();
  for (const Tensor& each : trained(*linear)) EXPECT_GT(each.grad().abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace aplomb::train::model
