#include "knowledge/hardware.h"

#include <gtest/gtest.h>

namespace aplomb::knowledge {
namespace {

constexpr double k_gib = 1024.0 * 1024 * 1024;

TEST(Hardware, FindsACardHoweverPeopleNameIt) {
  struct Named {
    const char* text;
    const char* card;
    double count;
    double gib;
  };
  const Named k_named[] = {
      {"8xH100 80GB", "NVIDIA H100", 8, 80},
      {"4 * A100-80G", "NVIDIA A100 80GB", 4, 80},
      {"GPU: NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090", 0, 24},
      {"Tesla T4", "NVIDIA T4", 0, 15},
      {"4 x V100 16G", "NVIDIA V100", 4, 16},
      {"a 32GB V100", "NVIDIA V100", 0, 32},
      {"2x 1080 Ti", "NVIDIA GeForce GTX 1080 Ti", 2, 11},
      {"NVIDIA A100-SXM4-40GB", "NVIDIA A100", 0, 40},
      {"RTX A6000 (48GB)", "NVIDIA RTX A6000", 0, 48},
      {"NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada", 0, 48},
      {"AMD Instinct MI300X", "AMD Instinct MI300X", 0, 192},
      {"4xRTX 4090", "NVIDIA GeForce RTX 4090", 4, 24},
      {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB", 0, 80},
      {"NVIDIA A100-PCIE-40GB", "NVIDIA A100", 0, 40},
      {"NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe", 0, 80},
      {"Tesla V100-SXM2-32GB-LS", "NVIDIA V100 32GB", 0, 32},
      {"Tesla V100-PCIE-16GB", "NVIDIA V100 PCIe", 0, 16},
      {"NVIDIA H100 80GB HBM3", "NVIDIA H100", 0, 80},
      {"NVIDIA H100 NVL", "NVIDIA H100 NVL", 0, 94},
      {"NVIDIA GH200 480GB", "NVIDIA GH200", 0, 96},
      {"NVIDIA GH200 144G HBM3e", "NVIDIA GH200", 0, 144},
      {"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA A100 80GB", 0, 10},
      {"NVIDIA H100 80GB HBM3 MIG 3g.40gb", "NVIDIA H100", 0, 40},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 Laptop", 0, 16},
      {"NVIDIA GeForce RTX 3080 Laptop GPU", "NVIDIA GeForce RTX 3080", 0, 0},
      {"NVIDIA GeForce RTX 4080 SUPER", "NVIDIA GeForce RTX 4080 SUPER", 0, 16},
      {"NVIDIA GeForce RTX 4070 Ti SUPER", "NVIDIA GeForce RTX 4070 Ti SUPER", 0, 16},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX PRO 6000 Blackwell", 0, 96},
      {"NVIDIA RTX A6000", "NVIDIA RTX A6000", 0, 48},
      {"NVIDIA A10G", "NVIDIA A10G", 0, 24},
      {"AMD Instinct MI300X OAM", "AMD Instinct MI300X", 0, 192},
      {"Ascend910B3", "Ascend 910B3", 0, 64},
      {"Huawei Ascend 910B", "Ascend 910B", 0, 64},
  };
  for (const Named& named : k_named) {
    const auto seen = find_gpu(named.text);
    ASSERT_TRUE(seen) << named.text;
    EXPECT_EQ(seen->card->name, named.card) << named.text;
    EXPECT_EQ(seen->count, named.count) << named.text;
    EXPECT_EQ(seen->memory_bytes, named.gib * k_gib) << named.text;
  }
}

TEST(Hardware, TakesNoNumberOrWordForACard) {
  for (const char* text : {"step 4090/10000 loss 2.0", "BERT4Rec", "version 1.2080", "layer4.t40",
                           "saved at 3090 steps", ""}) {
    EXPECT_FALSE(find_gpu(text)) << text;
  }
}

TEST(Hardware, ALesserFormHasTheAbilitiesAndNotTheFigures) {
  for (const char* text :
       {"NVIDIA GeForce RTX 3080 Laptop GPU", "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        "GeForce RTX 2080 with Max-Q Design"}) {
    const auto seen = find_gpu(text);
    ASSERT_TRUE(seen) << text;
    EXPECT_TRUE(seen->is_lesser) << text;
  }
  EXPECT_FALSE(find_gpu("NVIDIA GeForce RTX 4090 Laptop GPU")->is_lesser);  // listed as such
  EXPECT_FALSE(find_gpu("NVIDIA A100-SXM4-80GB")->is_lesser);
}

/// Rates stand in fixed proportions within a generation: a figure with sparsity where the dense one
/// belongs stands out.
TEST(Hardware, PeaksAreDense) {
  for (const Gpu& card : gpus()) {
    const auto peak = [&card](std::string_view format) {
      for (const auto& [name, flops] : card.peak_flops) {
        if (name == format) return flops;
      }
      return 0.0;
    };
    const bool tensor_tf32 = peak("tf32") > 0 && card.compute_capability > 0;
    if (tensor_tf32) {
      EXPECT_NEAR(peak("bf16") / peak("tf32"), 2.0, 0.1) << card.name;
    }
    if (peak("fp8") > 0 && !card.name.starts_with("Intel")) {
      EXPECT_NEAR(peak("fp8") / peak("bf16"), 2.0, 0.1) << card.name;
    }
    if (card.compute_capability == 8.9 && card.name.find("GeForce") != std::string::npos) {
      EXPECT_NEAR(peak("bf16") / peak("fp32"), 2.0, 0.1) << card.name;
    }
  }
}

TEST(Hardware, EveryCardIsWholeAndFindsItself) {
  ASSERT_FALSE(gpus().empty());
  for (const Gpu& card : gpus()) {
    EXPECT_FALSE(card.source.empty()) << card.name;
    for (const std::string& figure : card.unverified)
      EXPECT_TRUE(figure == "memory" || figure == "peak" || figure == "bandwidth") << card.name;
    EXPECT_GT(card.memory_bytes, 0) << card.name;
    EXPECT_GT(card.bandwidth_bytes_per_s, 0) << card.name;
    EXPECT_FALSE(card.peak_flops.empty()) << card.name;
    EXPECT_TRUE(!card.fp8 || card.bf16) << card.name;
    const bool nvidia = card.name.starts_with("NVIDIA");
    EXPECT_EQ(card.compute_capability > 0, nvidia) << card.name;
    EXPECT_TRUE(!nvidia || card.bf16 == (card.compute_capability >= 8)) << card.name;
    const auto seen = find_gpu(card.name);
    ASSERT_TRUE(seen) << card.name;
    EXPECT_EQ(seen->card->compute_capability, card.compute_capability)
        << card.name << " found as " << seen->card->name;
  }
}

}  // namespace
}  // namespace aplomb::knowledge
