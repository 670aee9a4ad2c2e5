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

TEST(Hardware, EveryCardIsWholeAndFindsItself) {
  ASSERT_FALSE(gpus().empty());
  for (const Gpu& card : gpus()) {
    EXPECT_FALSE(card.source.empty()) << card.name;
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
