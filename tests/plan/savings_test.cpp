#include "plan/savings.h"

#include <gtest/gtest.h>

#include <map>

namespace aplomb::plan {
namespace {

std::map<std::string, double> told(const std::vector<std::pair<std::string, core::Value>>& values,
                                   bool exact) {
  Known known({});
  for (const auto& [name, value] : values) known.put(name, value, "test");
  std::map<std::string, double> out;
  for (const Saving& each : savings(known, "", exact)) out[each.rung] = each.bytes;
  return out;
}

std::vector<std::pair<std::string, core::Value>> seven_billion() {
  return {{"model.params", 6738415616.0},
          {"model.type", std::string("llama")},
          {"model.layers", 32.0},
          {"model.hidden", 4096.0},
          {"model.ffn", 11008.0},
          {"model.heads", 32.0},
          {"model.vocab_size", 32000.0},
          {"model.tie_embeddings", false},
          {"batch.micro", 4.0},
          {"data.max_length", 2048.0},
          {"batch.world", 8.0},
          {"attn.impl", std::string("eager")},
          {"optim.name", std::string("adamw")},
          {"precision.params", std::string("bf16")},
          {"precision.compute", std::string("bf16")}};
}

TEST(PlanSavings, AreThoseOfAPlanWhereTheSizesAreKnown) {
  const auto rungs = told(seven_billion(), true);
  // 4 x 32 x 2048^2 scores of 32 layers, fp32 and the 16-bit copy that the product takes: 6 bytes.
  EXPECT_NEAR(rungs.at("no_scores") / (6.0 * 4 * 32 * 2048 * 2048 * 32), 1, 0.12);
  // 8-bit moments beside 16-bit ones (the weights are 16-bit, and AdamW's state is as wide).
  EXPECT_NEAR(rungs.at("adam_8bit") / (2 * 6738415616.0), 1, 0.08);
  EXPECT_GT(rungs.at("half_micro"), rungs.at("zero2"));
  EXPECT_FALSE(rungs.count("quantised"));
}

TEST(PlanSavings, FollowThePapersWhereSizesAreMissing) {
  auto values = seven_billion();
  std::erase_if(values, [](const auto& each) { return each.first == "model.ffn"; });
  const auto rungs = told(values, true);
  EXPECT_DOUBLE_EQ(rungs.at("adam_8bit"), 6 * 6738415616.0);
  EXPECT_EQ(rungs, told(values, false));
}

TEST(PlanSavings, SayNothingOfWhatIsUnknown) { EXPECT_TRUE(told({}, true).empty()); }

}  // namespace
}  // namespace aplomb::plan
