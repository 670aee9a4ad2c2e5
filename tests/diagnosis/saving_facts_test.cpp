#include <gtest/gtest.h>

#include <map>
#include <string>

#include "diagnosis/derivers.h"
#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {
namespace {

std::map<std::string, std::string> savings_of(const std::map<std::string, core::Value>& known) {
  FactTable facts;
  for (const auto& [name, value] : known) facts.set({name, value, "", {}});
  facts::FactGraph(saving_facts()).derive({}, facts);
  std::map<std::string, std::string> told;
  for (const record::Fact& fact : facts.all()) {
    if (fact.name.starts_with("saving.")) told[fact.name.substr(7)] = core::show(fact.value);
  }
  return told;
}

std::map<std::string, core::Value> seven_billion() {
  return {{"model.params", 7e9},
          {"model.hidden", 4096.0},
          {"model.layers", 32.0},
          {"model.heads", 32.0},
          {"batch.micro", 4.0},
          {"data.max_length", 2048.0},
          {"batch.world", 8.0},
          {"optim.name", std::string("adamw")},
          {"precision.compute", std::string("bf16")}};
}

TEST(MemorySavings, FollowFromTheRunsOwnNumbers) {
  const auto told = savings_of(seven_billion());
  // 34 B x 4 x 2048 x 4096 x 32 layers = 34 GiB of activations, 2 GiB of them layer inputs
  EXPECT_EQ(told.at("half_micro"), "about 17 GiB");
  EXPECT_EQ(told.at("half_length"), "about 17 GiB");
  EXPECT_EQ(told.at("checkpointing"), "about 31 GiB");
  EXPECT_EQ(told.at("adam_8bit"), "about 39 GiB");  // 6 B a parameter
  EXPECT_EQ(told.at("offload"), "about 78 GiB");    // 12 B a parameter
  EXPECT_EQ(told.at("zero2"), "about 80 GiB");      // 14 B a parameter, seven of eight parts
  EXPECT_FALSE(told.contains("no_scores"));
  EXPECT_FALSE(told.contains("quantised"));
}

TEST(MemorySavings, CountTheScoresOfEagerAttentionAndTheBaseOfAnAdapter) {
  auto known = seven_billion();
  known["attn.impl"] = std::string("eager");
  known["peft.method"] = std::string("lora");
  const auto told = savings_of(known);
  EXPECT_EQ(told.at("no_scores"), "about 80 GiB");  // 5 B x 32 heads x 4 x 2048^2 x 32 layers
  EXPECT_EQ(told.at("quantised"), "about 9.8 GiB");
  EXPECT_FALSE(told.contains("offload"));  // how much of an adapter trains is not known
}

TEST(MemorySavings, SayNothingWhereANumberIsMissing) {
  auto known = seven_billion();
  known.erase("model.layers");
  known.erase("model.params");
  EXPECT_TRUE(savings_of(known).empty());
}

}  // namespace
}  // namespace aplomb::diagnosis
