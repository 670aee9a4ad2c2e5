#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

using test::expect_settings;
using test::settings_of;

constexpr std::string_view k_axolotl = R"(base_model: some-org/some-model
datasets:
  - path: some/data
    type: alpaca
sequence_len: 4096
sample_packing: true   # packs
micro_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2e-4
optimizer: adamw_bnb_8bit
bf16: true
adapter: qlora
lora_target_modules:
  - q_proj
  - v_proj
special_tokens:
  pad_token: "<|pad|>"
)";

TEST(ConfigYaml, ReadsAxolotl) {
  const aplomb::record::Run run = test::read_with("config-yaml", k_axolotl);
  EXPECT_EQ(run.sources[0].framework, "axolotl");
  expect_settings("config-yaml", k_axolotl,
                  {{"optim.lr", "0.0002"},
                   {"optim.name", "adamw_8bit"},
                   {"precision.compute", "bf16"},
                   {"data.packing", "true"},
                   {"peft.method", "qlora"},
                   {"peft.targets", "q_proj,v_proj"},
                   {"tokenizer.pad_token", "<|pad|>"},
                   {"data.dataset", "some/data"}});
}

TEST(ConfigYaml, PointsAtTheValueInTheText) {
  const aplomb::record::Run run = test::read_with("config-yaml", k_axolotl);
  const record::Setting* rate = run.setting("optim.lr");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->origin.line, 9U);
  EXPECT_EQ(k_axolotl.substr(rate->origin.offset, 4), "2e-4");
}

TEST(ConfigYaml, FollowsReferencesAndUnwrapsTrackers) {
  expect_settings(
      "config-yaml",
      "variables:\n  max_seq_len: 2048\nmax_seq_len: ${variables.max_seq_len}\n"
      "global_train_batch_size: 256\ndevice_train_microbatch_size: 8\nprecision: amp_bf16\n",
      {{"data.max_length", "2048"}, {"precision.compute", "bf16"}});
  const auto tracker =
      settings_of("config-yaml",
                  "_wandb:\n  value: {}\nlearning_rate:\n  desc: null\n  value: 0.001\n"
                  "per_device_train_batch_size:\n  value: 8\nseed:\n  value: 42\n");
  EXPECT_EQ(tracker.at("optim.lr"), "0.001");
  EXPECT_EQ(tracker.at("batch.micro"), "8");
}

TEST(ConfigYaml, DoesNotTakeTheCriticForThePolicy) {
  expect_settings("config-yaml",
                  "actor_rollout_ref:\n  actor:\n    optim:\n      lr: 1e-6\n"
                  "critic:\n  optim:\n    lr: 1e-5\nalgorithm:\n  adv_estimator: grpo\n",
                  {{"optim.lr", "1e-06"}, {"optim.lr_critic", "1e-05"}});
}

TEST(ConfigYaml, KeepsWhatStandsAroundAMistakeAndSaysSo) {
  const std::string_view text =
      "base_model: m\nlearning_rate: 1e-4\n\tmicro_batch_size: 2\nsequence_len: 512\n";
  const aplomb::record::Run run = test::read_with("config-yaml", text);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "bad-yaml");
  EXPECT_NE(run.setting("optim.lr"), nullptr);
  EXPECT_NE(run.setting("data.max_length"), nullptr);
}

TEST(ConfigYaml, KnowsItsOwn) {
  EXPECT_EQ(test::chosen_reader("config.yml", k_axolotl), "config-yaml");
  EXPECT_NE(test::chosen_reader("train.log", "step 1 loss 2.0\nstep 2 loss 1.9\n"), "config-yaml");
}

}  // namespace
}  // namespace aplomb::sources
