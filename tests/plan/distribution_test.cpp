#include <gtest/gtest.h>

#include "plan/plan.h"

namespace aplomb::plan {
namespace {

using Values = std::vector<std::pair<std::string, core::Value>>;

Plan plan_of(const Values& more, const PlanRequest& request = {}) {
  Known known({});
  for (const auto& [name, value] : Values{{"model.type", std::string("llama")},
                                          {"model.layers", 16.0},
                                          {"model.hidden", 2048.0},
                                          {"model.ffn", 8192.0},
                                          {"model.heads", 32.0},
                                          {"model.kv_heads", 8.0},
                                          {"model.vocab_size", 128256.0},
                                          {"model.tie_embeddings", true},
                                          {"precision.params", std::string("bf16")},
                                          {"precision.compute", std::string("bf16")},
                                          {"data.max_length", 1024.0},
                                          {"batch.micro", 2.0}})
    known.put(name, value, "test");
  for (const auto& [name, value] : more) known.put(name, value, "test");
  auto made = make_plan(known, "", request);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text);
  return made ? *made : Plan();
}

TEST(PlanDistribution, DdpCopiesGradientsIntoBuckets) {
  const Plan one = plan_of({});
  const Plan four = plan_of({{"dist.world_size", 4.0}});
  EXPECT_EQ(one.step.whole[Part::gathered], 0);
  EXPECT_DOUBLE_EQ(four.step.whole[Part::gathered], four.step.whole[Part::gradients]);
}

TEST(PlanDistribution, FullShardsOfFsdpHoldAnNthOfEverything) {
  const Plan one = plan_of({});
  const Plan sharded = plan_of({{"dist.world_size", 8.0}, {"dist.strategy", std::string("fsdp")}});
  for (const Part part : {Part::weights, Part::gradients, Part::optimizer})
    EXPECT_NEAR(sharded.step.whole[part] * 8, one.step.whole[part], 1) << name(part);
}

TEST(PlanDistribution, TensorParallelSplitsTheLayersAndSequenceParallelTheRest) {
  const Plan one = plan_of({});
  const Plan split = plan_of({{"dist.world_size", 4.0}, {"dist.tensor_parallel", 4.0}});
  const Plan both = plan_of(
      {{"dist.world_size", 4.0}, {"dist.tensor_parallel", 4.0}, {"dist.sequence_parallel", true}});
  EXPECT_EQ(split.training.ranks(), 1);
  EXPECT_NEAR(split.step.whole[Part::weights] * 4 / one.step.whole[Part::weights], 1, 0.01);
  EXPECT_LT(split.step.kept[Part::activations], one.step.kept[Part::activations]);
  EXPECT_GT(4 * split.step.kept[Part::activations], 1.2 * one.step.kept[Part::activations]);
  EXPECT_NEAR(4 * both.step.kept[Part::activations] / one.step.kept[Part::activations], 1, 0.02);
}

TEST(PlanDistribution, ContextParallelDividesTheTokens) {
  const Plan one = plan_of({});
  const Plan split = plan_of({{"dist.world_size", 2.0}, {"dist.context_parallel", 2.0}});
  EXPECT_NEAR(2 * split.step.kept[Part::activations] / one.step.kept[Part::activations], 1, 0.01);
}

TEST(PlanDistribution, OffloadMovesTheOptimizerToTheHostAndCostsTheWay) {
  const Values on_host = {{"dist.offload_optimizer", std::string("cpu")}};
  const Plan here = plan_of({}, {"A100", 0});
  const Plan there = plan_of(on_host, {"A100", 0});
  EXPECT_EQ(there.step.whole[Part::optimizer], 0);
  EXPECT_DOUBLE_EQ(there.step.host_bytes, here.step.whole[Part::optimizer]);
  EXPECT_GT(there.step.host_s, 0);
}

TEST(PlanDistribution, ASlowLinkBindsTheStep) {
  const Values sharded = {{"dist.world_size", 8.0}, {"dist.zero_stage", 3.0}};
  const Plan nvlink = plan_of(sharded, {"A100", 0});
  const Plan pcie = plan_of(sharded, {"RTX 4090", 0});
  EXPECT_NEAR(nvlink.step.exposed_s, 0, 1e-9);
  EXPECT_GT(pcie.step.exchange_s, 4 * nvlink.step.exchange_s);
}

TEST(PlanGrpo, TheModelsOwnGenerationNeedsKeysAndValues) {
  const Plan plan = plan_of({{"train.method", std::string("grpo")},
                             {"batch.micro", 16.0},
                             {"rl.max_prompt_length", 512.0},
                             {"rl.max_completion_length", 1024.0}});
  ASSERT_EQ(plan.step.moments.front().name, "generation");
  // 2 x 16 layers x 8 heads x 64 numbers of 2 bytes x 16 sequences of 1,536 tokens.
  EXPECT_DOUBLE_EQ(plan.step.moments.front().peak[Part::cache], 2.0 * 16 * 8 * 64 * 2 * 16 * 1536);
  // Completions alone are scored.
  EXPECT_LT(plan.step.peak[Part::logits] + plan.step.peak[Part::passing],
            16 * 1025 * 128256.0 * 13);
}

TEST(PlanGrpo, AnEngineBesideTheTrainerTakesItsShareOfTheCard) {
  const Values values = {{"train.method", std::string("grpo")},
                         {"rl.use_vllm", true},
                         {"rl.vllm_mode", std::string("colocate")},
                         {"rl.vllm_memory_frac", 0.4}};
  const Plan beside = plan_of(values, {"H100", 0});
  EXPECT_NEAR(beside.step.whole[Part::cache] / beside.capacity_bytes, 0.4, 1e-9);
  Values served = values;
  served[2].second = std::string("server");
  EXPECT_EQ(plan_of(served, {"H100", 0}).step.whole[Part::cache], 0);
}

TEST(PlanGrpo, AReferenceIsAnotherCopyOfTheWeights) {
  const Values values = {{"train.method", std::string("grpo")}, {"rl.beta", 0.04}};
  Values adapter = values;
  adapter.emplace_back("peft.method", std::string("lora"));
  EXPECT_DOUBLE_EQ(plan_of(values).step.whole[Part::weights],
                   2 * plan_of({}).step.whole[Part::weights]);
  EXPECT_DOUBLE_EQ(plan_of(adapter).step.whole[Part::weights],
                   plan_of({}).step.whole[Part::weights]);
}

TEST(PlanDpo, APairGoesThroughTogetherBesideAReference) {
  const Plan one = plan_of({});
  const Plan pair = plan_of({{"train.method", std::string("dpo")}});
  EXPECT_NEAR(pair.step.kept[Part::activations] / one.step.kept[Part::activations], 2, 0.01);
  EXPECT_DOUBLE_EQ(pair.step.kept[Part::weights], 2 * one.step.kept[Part::weights]);
}

TEST(PlanTraining, ARankWithoutAMethodIsLora) {
  EXPECT_EQ(plan_of({{"peft.rank", 16.0}}).training.method, Method::lora);
  EXPECT_EQ(plan_of({}).training.method, Method::full);
}

TEST(PlanTraining, ABasePublishedInFourBitsIsQuantised) {
  const Plan plan = plan_of({{"peft.method", std::string("lora")},
                             {"model.name", std::string("unsloth/llama-3.2-1b-bnb-4bit")}});
  EXPECT_TRUE(plan.training.quantisation.on);
}

TEST(PlanQuantised, NinePartsInSixteenOfAByteAWeightAndTheRestInFp32) {
  const Plan plan = plan_of({{"peft.method", std::string("qlora")}, {"quant.bits", 4.0}});
  const double outer = count_of(outer_weights(plan.shape)) + 16.0 * 2 * 2048;
  const double linear = plan.step.parameters - outer;
  EXPECT_NEAR(plan.step.kept[Part::weights], linear * 0.5625 + outer * 4, 1);
}

}  // namespace
}  // namespace aplomb::plan
