#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

using test::expect_settings;
using test::settings_of;

constexpr std::string_view k_deepspeed = R"({
  // trailing commas and comments are what people have
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}, "overlap_comm": true,},
  "gradient_clipping": "auto",
  "train_micro_batch_size_per_gpu": 2,
  "optimizer": {"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.9, 0.95], "eps": 1e-8}}
})";

TEST(ConfigJson, ReadsDeepSpeedNestedKeysAndLeavesAutoOut) {
  const auto found = expect_settings("config-json", k_deepspeed,
                                     {{"dist.zero_stage", "3"},
                                      {"dist.offload_optimizer", "cpu"},
                                      {"precision.compute", "bf16"},
                                      {"precision.master", "fp32"},
                                      {"optim.lr", "3e-05"},
                                      {"optim.beta2", "0.95"},
                                      {"batch.micro", "2"}});
  EXPECT_FALSE(found.contains("optim.grad_clip"));
}

TEST(ConfigJson, TellsTheFrameworkAndThePlaceOfAValue) {
  const aplomb::record::Run run = test::read_with("config-json", k_deepspeed);
  EXPECT_EQ(run.sources[0].framework, "deepspeed");
  const record::Setting* stage = run.setting("dist.zero_stage");
  ASSERT_NE(stage, nullptr);
  EXPECT_EQ(stage->raw_key, "zero_optimization.stage");
  EXPECT_EQ(stage->origin.line, 4U);
  EXPECT_EQ(k_deepspeed.substr(stage->origin.offset, 1), "3");
}

TEST(ConfigJson, ReadsATemplateWithBareWordsAndATornTail) {
  const auto found = expect_settings(
      "config-json", R"({"train_micro_batch_size_per_gpu": MICRO, "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 2, "reduce_buck)",
      {{"dist.zero_stage", "2"}, {"optim.grad_clip", "1"}});
  EXPECT_FALSE(found.contains("batch.micro"));
}

TEST(ConfigJson, GivesTheSameRecordWhateverThePartsAre) {
  const aplomb::record::Run whole = test::read_with("config-json", k_deepspeed);
  const aplomb::record::Run parts = test::read_with("config-json", k_deepspeed, 7);
  ASSERT_EQ(whole.settings.size(), parts.settings.size());
  for (std::size_t i = 0; i < whole.settings.size(); ++i) {
    EXPECT_EQ(whole.settings[i].name, parts.settings[i].name);
    EXPECT_EQ(whole.settings[i].origin.offset, parts.settings[i].origin.offset);
  }
}

TEST(ConfigJson, KnowsItsOwnAndLeavesRecordsAlone) {
  EXPECT_EQ(test::chosen_reader("ds_config.json", k_deepspeed), "config-json");
  EXPECT_EQ(test::chosen_reader("out/adapter_config.json",
                                R"({"peft_type": "LORA", "r": 8, "lora_alpha": 16})"),
            "config-json");
  EXPECT_NE(test::chosen_reader("metrics.jsonl",
                                "{\"loss\": 2.0, \"step\": 1}\n{\"loss\": 1.9, \"step\": 2}\n"),
            "config-json");
  EXPECT_EQ(test::chosen_reader("trainer_state.json",
                                R"({"global_step": 2, "log_history": [{"loss": 1, "step": 2}]})"),
            "trainer-state");
}

TEST(ConfigJson, SurvivesHostileNesting) {
  const std::string deep = "{\"a\":" + std::string(200000, '[') + "1";
  EXPECT_TRUE(settings_of("config-json", deep).empty());
}

}  // namespace
}  // namespace aplomb::sources
