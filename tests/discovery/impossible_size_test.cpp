// Sizes that no model can have are told where a configuration is read, and are not taken.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/folder.h"
#include "discovery/collect.h"
#include "knowledge/setting.h"

namespace aplomb::discovery {
namespace {

using ::testing::HasSubstr;

record::Run read(const std::string& name, const std::string& text) {
  const test::Folder folder;
  auto runs = discovery::collect({folder.write(name, text)}, {});
  return runs.empty() ? record::Run() : std::move(runs.front());
}

const record::Defect* impossible(const record::Run& run) {
  for (const record::Defect& each : run.defects) {
    if (each.kind == "impossible-size") return &each;
  }
  return nullptr;
}

std::string model(const std::string& key, const std::string& value) {
  std::string text = R"({"model_type": "llama")";
  const std::pair<const char*, const char*> k_sizes[] = {
      {"num_hidden_layers", "32"}, {"hidden_size", "4096"}, {"num_attention_heads", "32"}};
  for (const auto& [other, size] : k_sizes) {
    if (key != other) text += std::string(", \"") + other + "\": " + size;
  }
  return text + ", \"" + key + "\": " + value + "}";
}

TEST(ImpossibleSize, IsTold) {
  const std::pair<const char*, const char*> k_sizes[] = {{"num_hidden_layers", "2000000000"},
                                                         {"num_hidden_layers", "-4"},
                                                         {"num_hidden_layers", "NaN"},
                                                         {"num_hidden_layers", "Infinity"},
                                                         {"num_hidden_layers", "\"many\""},
                                                         {"num_hidden_layers", "2.5"},
                                                         {"num_hidden_layers", "0"},
                                                         {"vocab_size", "1000000000000"},
                                                         {"vocab_size", "1e12"},
                                                         {"hidden_size", "9223372036854775807"},
                                                         {"num_attention_heads", "1e300"},
                                                         {"num_local_experts", "1000000000000"},
                                                         {"intermediate_size", "1e18"},
                                                         {"max_position_embeddings", "1e18"},
                                                         {"num_key_value_heads", "4294967296"},
                                                         {"head_dim", "99999999"}};
  for (const auto& [key, value] : k_sizes) {
    const record::Run run = read("config.json", model(key, value));
    const record::Defect* told = impossible(run);
    ASSERT_NE(told, nullptr) << key << " " << value;
    EXPECT_THAT(told->text, HasSubstr(key)) << value;
    EXPECT_THAT(told->text, HasSubstr("likely"));
    EXPECT_THAT(told->text, HasSubstr("correct line 1"));
    ASSERT_NE(run.setting("model.impossible_size"), nullptr);
    for (const char* setting :
         {"model.layers", "model.vocab_size", "model.hidden", "model.heads"}) {
      const record::Setting* kept = run.setting(setting);
      EXPECT_TRUE(kept == nullptr || kept->raw_key != key) << key << " " << value;
    }
  }
}

TEST(ImpossibleSize, IsToldOfYamlAndToml) {
  EXPECT_NE(impossible(read("model.yaml",
                            "model_type: llama\nhidden_size: 64\n"
                            "num_hidden_layers: 2000000000\nvocab_size: 10\n")),
            nullptr);
  EXPECT_NE(impossible(read("model.toml",
                            "model_type = \"llama\"\nhidden_size = 64\n"
                            "num_hidden_layers = 2000000000\nvocab_size = 10\n")),
            nullptr);
}

TEST(ImpossibleSize, IsNoneOfWhatModelsHave) {
  const std::pair<const char*, const char*> k_sizes[] = {{"num_hidden_layers", "126"},
                                                         {"num_hidden_layers", "null"},
                                                         {"num_hidden_layers", "\"auto\""},
                                                         {"hidden_size", "[96, 192, 384]"},
                                                         {"vocab_size", "901629"},
                                                         {"max_position_embeddings", "-1"},
                                                         {"head_dim", "null"},
                                                         {"num_experts", "0"},
                                                         {"num_local_experts", "1048576"},
                                                         {"intermediate_size", "\"53248\""}};
  for (const auto& [key, value] : k_sizes)
    EXPECT_EQ(impossible(read("config.json", model(key, value))), nullptr) << key << " " << value;
}

TEST(ImpossibleSize, OfALogIsOnlyToldWhereItIsANumber) {
  EXPECT_EQ(impossible(read("train.log", "num_layers: encoder\nstep 1 loss 2.0\nstep 2 loss 2\n")),
            nullptr);
}

TEST(ImpossibleSize, EveryBoundIsAboveItsLeast) {
  std::size_t bounded = 0;
  for (const knowledge::SettingSpec& spec : knowledge::setting_specs()) {
    if (!spec.most) continue;
    ++bounded;
    EXPECT_LT(spec.least.value_or(0), *spec.most) << spec.name;
  }
  EXPECT_GE(bounded, 12U);
}

}  // namespace
}  // namespace aplomb::discovery
