#include "train/loop/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/folder.h"
#include "train/loop/tensor_file.h"

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

NamedTensor start(const char* name = "layers.0.weight") {
  at::Tensor value = (at::arange(6, at::kFloat).reshape({3, 2}) - 2) * 0.1;
  return {name, value.set_requires_grad(true)};
}

void give_gradient(const NamedTensor& parameter, int step) {
  static const std::vector<float> gradients[] = {{1, -2, 0.5, 3, -1, 0.25}, {0.5, 1, 2, -1, 1, 1}};
  parameter.tensor.mutable_grad() =
      at::tensor(gradients[step], at::kFloat).reshape(parameter.tensor.sizes());
}

void take_two_steps(Optimizer& optimizer, const NamedTensor& parameter) {
  for (int step = 0; step < 2; ++step) {
    give_gradient(parameter, step);
    optimizer.step(0.5);
  }
}

void expect_values(const NamedTensor& parameter, const std::vector<float>& wanted, double within) {
  const at::Tensor off =
      (parameter.tensor.detach().flatten() - at::tensor(wanted, at::kFloat)).abs().max();
  EXPECT_LE(off.item<double>(), within) << parameter.tensor;
}

// What torch.optim.AdamW(lr=0.02, weight_decay=0.1, betas=(0.9, 0.95), fused=True) of torch 2.13
// gives for these two steps; here half of a peak of 0.04.
TEST(AdamW, TakesTorchsSteps) {
  const NamedTensor parameter = start();
  AdamW optimizer({parameter}, {0.04, 0.9, 0.95, 1e-8, 0.1});
  take_two_steps(optimizer, parameter);
  expect_values(parameter,
                {-0.23794667F, -0.07427301F, -0.03745463F, 0.07155427F, 0.21810818F, 0.26134658F},
                1e-8);
}

// Likewise torch.optim.Muon(lr=0.02, weight_decay=0.1, momentum=0.95). Its products are in bf16.
TEST(Muon, TakesTorchsSteps) {
  const NamedTensor parameter = start();
  Muon optimizer({parameter}, {0.04, 0.95, 0.1});
  take_two_steps(optimizer, parameter);
  expect_values(parameter,
                {-0.22251631F, -0.08694115F, -0.02806053F, 0.08615243F, 0.21774107F, 0.27294368F},
                2e-4);
}

TEST(AdamW, LeavesAParameterWithoutGradientAsItIs) {
  const NamedTensor with = start("a"), without = start("b");
  AdamW optimizer({with, without}, {});
  give_gradient(with, 0);
  optimizer.step(1);
  EXPECT_TRUE(at::equal(without.tensor, start().tensor));
  EXPECT_FALSE(at::equal(with.tensor, start().tensor));
}

TEST(Decay, SparesNormsAndBiasesByName) {
  for (const char* name : {"model.norm.weight", "model.layers.0.input_layernorm.weight",
                           "layers.1.self_attn.q_norm.weight", "q_proj.bias", "norm"})
    EXPECT_FALSE(decays(name)) << name;
  for (const char* name : {"model.embed_tokens.weight", "layers.0.mlp.up_proj.weight",
                           "q_proj.lora_A.weight", "enormous.weight", "normal.weight"})
    EXPECT_TRUE(decays(name)) << name;
  const NamedTensor norm = start("norm.weight"), matrix = start("w");
  AdamW optimizer({norm, matrix}, {0.1, 0.9, 0.95, 1e-8, 0.5});
  for (const NamedTensor& each : {norm, matrix})
    each.tensor.mutable_grad() = at::zeros({3, 2}, at::kFloat);
  optimizer.step(1);
  EXPECT_TRUE(at::equal(norm.tensor, start().tensor));
  EXPECT_TRUE(at::allclose(matrix.tensor, start().tensor * 0.95));
}

TEST(MakeOptimizer, GivesMuonTheMatricesAndAdamWTheRest) {
  const std::vector<NamedTensor> parameters = {
      start("model.layers.0.q_proj.weight"),
      start("model.embed_tokens.weight"),
      {"norm.weight", at::ones({4}).set_requires_grad(true)},
      start("lm_head.weight")};
  OptimFlags flags;
  flags.optim = "muon";
  std::vector<std::string> names;
  for (const NamedTensor& each : make_optimizer(parameters, flags, 1e-3)->state())
    names.push_back(each.name);
  EXPECT_EQ(
      std::count_if(names.begin(), names.end(),
                    [](const std::string& name) { return name.rfind("momentum_buffer.", 0) == 0; }),
      1);
  EXPECT_THAT(names, ::testing::Contains("momentum_buffer.model.layers.0.q_proj.weight"));
  EXPECT_THAT(names, ::testing::Contains("exp_avg.lm_head.weight"));
}

TEST(OptimizerState, GoesThroughAFileAndTheNextStepIsTheSame) {
  const test::Folder folder;
  const NamedTensor one = start(), other = start();
  AdamW first({one}, {});
  take_two_steps(first, one);
  ASSERT_TRUE(save_tensors(folder / "o.safetensors", first.state()));
  AdamW second({other}, {});
  other.tensor.detach().copy_(one.tensor.detach());
  ASSERT_TRUE(load_tensors(folder / "o.safetensors", second.state()));
  take_two_steps(first, one);
  take_two_steps(second, other);
  EXPECT_TRUE(at::equal(one.tensor, other.tensor));
  second.reset_momentum();
  for (const NamedTensor& each : second.state()) {
    if (each.name.rfind("exp_avg.", 0) == 0) {
      EXPECT_EQ(each.tensor.abs().max().item<float>(), 0);
    }
    if (each.name.rfind("exp_avg_sq.", 0) == 0) {
      EXPECT_GT(each.tensor.max().item<float>(), 0);
    }
  }
}

TEST(TensorFile, WhatDoesNotFitIsRefusedBeforeAnythingIsCopied) {
  const test::Folder folder;
  const std::string path = folder / "t.safetensors";
  ASSERT_TRUE(save_tensors(path, {{"a", at::ones({2})}, {"b", at::ones({2, 2})}}));
  const at::Tensor a = at::zeros({2});
  const struct {
    std::vector<NamedTensor> into;
    const char* said;
  } cases[] = {
      {{{"a", a}, {"c", at::zeros({2, 2})}}, "lacks c"},
      {{{"a", a}, {"b", at::zeros({4})}}, "[2, 2] there and F32 [4] here"},
      {{{"a", a}, {"b", at::zeros({2, 2}, at::kDouble)}}, "F64"},
      {{{"a", a}}, "holds 2 tensors"},
  };
  for (const auto& each : cases) {
    const auto loaded = load_tensors(path, each.into);
    ASSERT_FALSE(loaded) << each.said;
    EXPECT_THAT(loaded.error().text, HasSubstr(each.said));
    EXPECT_EQ(a.abs().max().item<float>(), 0);
  }
  EXPECT_FALSE(load_tensors(folder / "none", {}));
  EXPECT_THAT(save_tensors("/dev/full", {{"a", a}}).error().text, HasSubstr("No space left"));
}

TEST(TensorFile, KeepsEveryBitOfEveryType) {
  const test::Folder folder;
  std::vector<NamedTensor> saved, loaded;
  at::Tensor odd = at::tensor({0.1F, -0.0F, 1e-45F, NAN, INFINITY});
  for (const auto type :
       {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kByte}) {
    const at::Tensor value = c10::isFloatingType(type) ? odd.to(type) : at::arange(5).to(type);
    saved.push_back({std::string("t") + std::to_string(saved.size()), value});
    loaded.push_back({saved.back().name, at::zeros_like(value)});
  }
  saved.push_back({"scalar", at::full({}, 3.0F)});
  loaded.push_back({"scalar", at::zeros({})});
  saved.push_back({"turned", at::arange(6, at::kFloat).reshape({2, 3}).t()});
  loaded.push_back({"turned", at::zeros({3, 2})});
  ASSERT_TRUE(save_tensors(folder / "t", saved));
  const auto done = load_tensors(folder / "t", loaded);
  ASSERT_TRUE(done) << done.error().text;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const at::Tensor wanted = saved[i].tensor.contiguous();
    EXPECT_EQ(
        std::memcmp(wanted.const_data_ptr(), loaded[i].tensor.const_data_ptr(), wanted.nbytes()), 0)
        << saved[i].name;
  }
}

}  // namespace
}  // namespace aplomb::train::loop
