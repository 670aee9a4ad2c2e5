#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> growing(double first, double last) {
  std::vector<double> all;
  for (int i = 0; i < 60; ++i) all.push_back(first * std::pow(last / first, i / 59.0));
  return all;
}

TEST(LogitGrowth, OutputLogitsThatGrow) {
  const auto symptoms = RunOf().with("logits/max", record::Role::other, growing(10, 500)).detect();
  const detectors::Symptom* found = find(symptoms, "logits.output_grow");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_GT(number(found, "ratio"), 20);
  EXPECT_FALSE(has(symptoms, "logits.attention_grow"));
}

TEST(LogitGrowth, AttentionLogitsThatGrow) {
  for (const char* name : {"max_attention_logit", "attn/max_logits"}) {
    const auto symptoms = RunOf().with(name, record::Role::other, growing(12, 1600)).detect();
    EXPECT_TRUE(has(symptoms, "logits.attention_grow")) << name << told(symptoms);
  }
}

TEST(LogitGrowth, OneLayerOfManyIsNamedAndNotLostInTheOthers) {
  RunOf run;
  for (int layer = 0; layer < 6; ++layer)
    run.with("attn/max_logit/layer_" + std::to_string(layer), record::Role::other,
             layer == 4 ? growing(8, 900) : growing(8, 9));
  const auto symptoms = run.detect();
  const detectors::Symptom* found = find(symptoms, "logits.attention_grow");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_NE(found->summary.find("layer_4; 1 of 6 grow"), std::string::npos) << found->summary;
}

TEST(LogitGrowth, LogitsThatSettleAreNone) {
  EXPECT_FALSE(has(RunOf().with("logits/max", record::Role::other, growing(10, 25)).detect(),
                   "logits.output_grow"));
  EXPECT_FALSE(has(RunOf().with("logits/max", record::Role::other, growing(60, 70)).detect(),
                   "logits.output_grow"));
}

}  // namespace
}  // namespace aplomb::testing
