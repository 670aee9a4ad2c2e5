#include "train/model/model_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace aplomb::train::model {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json small(const char* architecture) {
  return {{"architectures", {architecture}},
          {"vocab_size", 128},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"rms_norm_eps", 1e-5},
          {"max_position_embeddings", 256}};
}

core::Result<ModelConfig> parse(const json& config) {
  return parse_model_config(config.dump(), "config.json");
}

TEST(ModelConfig, reads_sizes_and_counts_parameters) {
  json text = small("LlamaForCausalLM");
  text["tie_word_embeddings"] = true;
  const auto config = parse(text);
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->attention.head_dim, 16);
  EXPECT_EQ(config->attention.kv_heads, 2);
  EXPECT_FALSE(config->attention.qkv_bias);
  // embedding 128*64; a layer: q and o 64*64 each, k and v 32*64 each, mlp 3*64*96, two norms of
  // 64; one norm.
  EXPECT_EQ(parameter_count(*config),
            128 * 64 + 4 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 96 + 2 * 64) + 64);
}

TEST(ModelConfig, what_an_architecture_implies_needs_no_key) {
  const auto qwen2 = parse(small("Qwen2ForCausalLM"));
  ASSERT_TRUE(qwen2);
  EXPECT_TRUE(qwen2->attention.qkv_bias);
  EXPECT_FALSE(qwen2->attention.output_bias);
  EXPECT_FALSE(qwen2->attention.qk_norm);
  const auto qwen3 = parse(small("Qwen3ForCausalLM"));
  ASSERT_TRUE(qwen3);
  EXPECT_TRUE(qwen3->attention.qk_norm);
  EXPECT_FALSE(qwen3->attention.qkv_bias);
  const auto smol = parse(small("SmolLM3ForCausalLM"));
  ASSERT_TRUE(smol);
  EXPECT_TRUE(smol->tie_embeddings);
  EXPECT_THAT(smol->attention.rotates, ElementsAre(true, true, true, false));
}

TEST(ModelConfig, a_sliding_window_counts_only_where_the_model_uses_it) {
  json mistral = small("MistralForCausalLM");
  mistral["sliding_window"] = 32;
  EXPECT_THAT(parse(mistral)->attention.windows, ElementsAre(32, 32, 32, 32));
  mistral["sliding_window"] = nullptr;
  EXPECT_THAT(parse(mistral)->attention.windows, ElementsAre(0, 0, 0, 0));
  json qwen = small("Qwen2ForCausalLM");
  qwen["sliding_window"] = 32;
  EXPECT_THAT(parse(qwen)->attention.windows, ElementsAre(0, 0, 0, 0));
  qwen["use_sliding_window"] = true;
  qwen["max_window_layers"] = 2;
  EXPECT_THAT(parse(qwen)->attention.windows, ElementsAre(0, 0, 32, 32));
  qwen["layer_types"] = {"sliding_attention", "full_attention", "full_attention", "full_attention"};
  EXPECT_THAT(parse(qwen)->attention.windows, ElementsAre(32, 0, 0, 0));
}

TEST(ModelConfig, rope_is_read_in_both_spellings) {
  json old = small("LlamaForCausalLM");
  old["rope_theta"] = 500000.0;
  old["rope_scaling"] = {{"rope_type", "llama3"},
                         {"factor", 8.0},
                         {"low_freq_factor", 1.0},
                         {"high_freq_factor", 4.0},
                         {"original_max_position_embeddings", 64}};
  json recent = small("LlamaForCausalLM");
  recent["rope_parameters"] = old["rope_scaling"];
  recent["rope_parameters"]["rope_theta"] = 500000.0;
  for (const json& each : {old, recent}) {
    const auto config = parse(each);
    ASSERT_TRUE(config) << config.error().text;
    EXPECT_EQ(config->rope.kind, RopeScaling::Kind::llama3);
    EXPECT_EQ(config->rope_theta, 500000.0);
    EXPECT_EQ(config->rope.factor, 8.0);
    EXPECT_EQ(config->rope.original_max_positions, 64);
  }
}

TEST(ModelConfig, says_what_is_missing_or_without_sense) {
  json text = small("LlamaForCausalLM");
  text.erase("hidden_size");
  EXPECT_THAT(parse(text).error().text, HasSubstr("`hidden_size` is missing"));
  text["hidden_size"] = "wide";
  EXPECT_THAT(parse(text).error().text, HasSubstr("`hidden_size` is \"wide\""));
  text["hidden_size"] = 1e300;
  EXPECT_THAT(parse(text).error().text, HasSubstr("hidden_size"));
  text["hidden_size"] = 64;
  text["num_key_value_heads"] = 3;
  EXPECT_THAT(parse(text).error().text, HasSubstr("no multiple"));
  EXPECT_EQ(parse_model_config("{\"vocab", "config.json").error().code,
            core::ErrorCode::bad_format);
  EXPECT_EQ(read_model_config("/nowhere/at/all").error().code, core::ErrorCode::not_found);
}

TEST(ModelConfig, what_is_not_built_is_named) {
  const auto gpt2 = parse(small("GPT2LMHeadModel"));
  ASSERT_FALSE(gpt2);
  EXPECT_EQ(gpt2.error().code, core::ErrorCode::unsupported);
  EXPECT_THAT(gpt2.error().text, HasSubstr("GPT2LMHeadModel"));
  json gelu = small("LlamaForCausalLM");
  gelu["hidden_act"] = "gelu";
  EXPECT_EQ(parse(gelu).error().code, core::ErrorCode::unsupported);
  json longrope = small("LlamaForCausalLM");
  longrope["rope_scaling"] = {{"rope_type", "longrope"}};
  EXPECT_EQ(parse(longrope).error().code, core::ErrorCode::unsupported);
}

}  // namespace
}  // namespace aplomb::train::model
