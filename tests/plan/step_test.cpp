#include "plan/step.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "plan/tape.h"

namespace aplomb::plan {
namespace {

constexpr double k_gb = 1e9;
constexpr double k_gib = 1024.0 * 1024 * 1024;

Known known(const std::vector<std::pair<std::string, core::Value>>& values) {
  Known made({});
  for (const auto& [name, value] : values) made.put(name, value, "test");
  return made;
}

/// Llama-3.1-8B, as its config.json gives it.
std::vector<std::pair<std::string, core::Value>> llama_8b() {
  return {{"model.type", std::string("llama")},
          {"model.layers", 32.0},
          {"model.hidden", 4096.0},
          {"model.ffn", 14336.0},
          {"model.heads", 32.0},
          {"model.kv_heads", 8.0},
          {"model.vocab_size", 128256.0},
          {"model.tie_embeddings", false},
          {"precision.params", std::string("bf16")},
          {"precision.compute", std::string("bf16")},
          {"data.max_length", 2048.0},
          {"batch.micro", 1.0}};
}

Plan plan_of(std::vector<std::pair<std::string, core::Value>> values,
             const std::vector<std::pair<std::string, core::Value>>& more = {},
             const PlanRequest& request = {}) {
  values.insert(values.end(), more.begin(), more.end());
  auto made = make_plan(known(values), "", request);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text);
  return made ? *made : Plan();
}

TEST(PlanStep, CountsTheParametersOfPublishedModels) {
  // meta-llama/Llama-3.1-8B: 8,030,261,248; openai-community/gpt2: 124,439,808.
  EXPECT_EQ(plan_of(llama_8b()).step.parameters, 8030261248.0);
  const Plan gpt2 = plan_of({{"model.type", std::string("gpt2")},
                             {"model.layers", 12.0},
                             {"model.hidden", 768.0},
                             {"model.heads", 12.0},
                             {"model.vocab_size", 50257.0},
                             {"model.max_positions", 1024.0}});
  EXPECT_EQ(gpt2.step.parameters, 124439808.0);
}

TEST(PlanStep, CountsTheActiveParametersOfAMixture) {
  // mistralai/Mixtral-8x7B: 46,702,792,704 parameters, 12,879,925,248 of them active.
  const Plan mixtral = plan_of({{"model.type", std::string("mixtral")},
                                {"model.layers", 32.0},
                                {"model.hidden", 4096.0},
                                {"model.ffn", 14336.0},
                                {"model.heads", 32.0},
                                {"model.kv_heads", 8.0},
                                {"model.vocab_size", 32000.0},
                                {"model.tie_embeddings", false},
                                {"model.experts", 8.0},
                                {"model.experts_per_token", 2.0}});
  EXPECT_EQ(mixtral.step.parameters, 46702792704.0);
  EXPECT_EQ(active_parameters_of(mixtral.shape), 12879925248.0);
}

TEST(PlanStep, ModelsThatAreOnlyNamedHaveThePublishedNumberOfParameters) {
  const std::pair<const char*, double> k_published[] = {
      {"meta-llama/Llama-2-7b-hf", 6738415616},
      {"meta-llama/Meta-Llama-3-8B-Instruct", 8030261248},
      {"unsloth/Llama-3.2-1B", 1235814400},
      {"meta-llama/Llama-3.2-3B-Instruct", 3212749824},
      {"meta-llama/Llama-3.1-70B", 70553706496},
      {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1100048384},
      {"mistralai/Mistral-7B-v0.1", 7241732096},
      {"Qwen/Qwen2.5-0.5B-Instruct", 494032768},
      {"Qwen/Qwen2.5-7B", 7615616512},
      {"Qwen/Qwen3-0.6B", 596049920},
      {"Qwen/Qwen3-8B", 8190735360},
      {"Qwen/Qwen3-30B-A3B", 30532122624},
      {"HuggingFaceTB/SmolLM2-135M", 134515008},
      {"gpt2-xl", 1557611200}};
  for (const auto& [name, parameters] : k_published)
    EXPECT_EQ(plan_of({{"model.name", std::string(name)}}).step.parameters, parameters) << name;
}

TEST(PlanStep, AdamKeepsTwelveBytesAParameterBesideSixteenBitWeights) {
  const Plan plan = plan_of(llama_8b(), {{"dist.zero_stage", 1.0}});
  EXPECT_NEAR(plan.step.whole[Part::optimizer] / plan.step.parameters, 12, 0.01);
  EXPECT_NEAR(plan.step.whole[Part::weights] / plan.step.parameters, 2, 0.01);
}

TEST(PlanStep, ThreeBillionParametersAreTwelveGigabytesInFp32AndSixInBf16) {
  // Llama-3.2-3B has 3.2 billion.
  std::vector<std::pair<std::string, core::Value>> three = llama_8b();
  for (auto& [name, value] : three) {
    if (name == "model.layers") value = 28.0;
    if (name == "model.hidden") value = 3072.0;
    if (name == "model.ffn") value = 8192.0;
    if (name == "model.heads") value = 24.0;
    if (name == "model.tie_embeddings") value = true;
  }
  const double each = 3e9 / plan_of(three).step.parameters;
  const Plan wide = plan_of(three, {{"precision.params", std::string("fp32")}});
  EXPECT_NEAR(wide.step.kept[Part::weights] * each / k_gb, 12, 0.01);
  EXPECT_NEAR(plan_of(three).step.kept[Part::weights] * each / k_gb, 6, 0.01);
}

TEST(PlanStep, TheLogitsOfTheGuidesExampleTake74Gib) {
  // 8 prompts x 16 completions of 2,048 tokens, 151,936 words, 2 bytes each.
  Ledger ledger;
  Clock clock({});
  Tape tape(ledger, clock, 0);
  const Tensor x = tape.input(hold(ledger, Part::passing, 0), 8 * 16 * 2048.0 * 64, 2, true);
  const Tensor head = tape.parameter(hold(ledger, Part::weights, 0), 64 * 151936.0, 2, nullptr);
  const Tensor logits = tape.linear(x, head, 8 * 16 * 2048, 64, 151936);
  EXPECT_NEAR(logits.bytes() / k_gib, 74.2, 0.05);
}

TEST(PlanStep, AdaptersOfRank32OnEightBillionStayInTheRangeThatGuidesGive) {
  // 30-40 GB with fp32 or 16-bit weights, LoRA or DoRA, at batches of one to two.
  for (const char* method : {"lora", "dora"}) {
    const Plan plan = plan_of(llama_8b(), {{"peft.method", std::string(method)},
                                           {"peft.rank", 32.0},
                                           {"precision.params", std::string("fp32")},
                                           {"memory.gradient_checkpointing", true},
                                           {"data.max_length", 512.0}});
    EXPECT_GT(plan.needed_bytes / k_gb, 30) << method;
    EXPECT_LT(plan.needed_bytes / k_gb, 42) << method;
  }
}

TEST(PlanStep, CheckpointingKeepsOneInputALayer) {
  const Plan plan = plan_of(llama_8b(), {{"memory.gradient_checkpointing", true}});
  const double inputs = 32 * 2048.0 * 4096 * 2;
  const double held = plan.step.kept[Part::activations];
  EXPECT_GE(held, inputs);
  EXPECT_LE(held, 1.2 * inputs);
}

TEST(PlanStep, ShardingDividesWhatItSaysItDivides) {
  const Plan one = plan_of(llama_8b(), {{"precision.master", std::string("fp32")}});
  const Plan three = plan_of(llama_8b(), {{"dist.zero_stage", 3.0}, {"dist.world_size", 8.0}});
  for (const Part part : {Part::weights, Part::gradients, Part::optimizer})
    EXPECT_NEAR(three.step.whole[part] * 8 / one.step.whole[part], 1, 0.001) << name(part);
  EXPECT_GT(three.step.whole[Part::gathered], 0);
}

TEST(PlanStep, ALargerBatchNeedsMoreAndANamedCardTellsWhetherItFits) {
  const Plan small = plan_of(llama_8b(), {{"peft.method", std::string("lora")}}, {"H100", 0});
  const Plan large = plan_of(
      llama_8b(), {{"peft.method", std::string("lora")}, {"batch.micro", 16.0}}, {"H100", 0});
  EXPECT_TRUE(small.fits);
  EXPECT_FALSE(large.fits);
  EXPECT_GT(large.step.kept[Part::activations], 15 * small.step.kept[Part::activations]);
  EXPECT_GT(small.mfu, 0.2);
  EXPECT_LT(small.mfu, 0.8);
}

TEST(PlanStep, WhatTheSizesLackIsNamed) {
  const auto plan = make_plan(
      known(
          {{"model.type", std::string("llama")}, {"model.layers", 32.0}, {"model.hidden", 4096.0}}),
      "", {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().text.find("attention heads"), std::string::npos);
}

TEST(PlanLadder, GoesFromTheLeastDisruptiveRungToTheFirstThatFits) {
  std::vector<std::pair<std::string, core::Value>> values = llama_8b();
  values.emplace_back("batch.micro", 8.0);
  const PlanRequest request{"A100 80GB", 0};
  const Known settings = known(values);
  const auto plan = make_plan(settings, "", request);
  ASSERT_TRUE(plan.has_value());
  ASSERT_FALSE(plan->fits);
  const std::vector<Rung> rungs = ladder(settings, "", request, *plan);
  ASSERT_GE(rungs.size(), 3U);
  EXPECT_EQ(rungs.front().id, "smaller-micro-batch");
  double needed = plan->needed_bytes;
  for (const Rung& rung : rungs) {
    EXPECT_NEAR(needed - rung.saved_bytes, rung.needed_bytes, 1);
    EXPECT_GT(rung.saved_bytes, 0);
    needed = rung.needed_bytes;
  }
  EXPECT_TRUE(rungs.back().fits);
}

}  // namespace
}  // namespace aplomb::plan
