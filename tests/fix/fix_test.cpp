#include "fix/fix.h"

#include <gtest/gtest.h>

namespace aplomb::fix {
namespace {

using Settings = std::vector<knowledge::SettingValue>;

core::Value word(const char* text) { return std::string(text); }

TEST(FixConfig, EditsYamlInPlaceAndKeepsCommentsAndOrder) {
  const std::string_view text =
      "# my run\nbase_model: some/model  # the base\nsequence_len: 2048\n\nlearning_rate: 2e-3   # "
      "too high?\nfp16: true\n"
      "micro_batch_size: 2\nlora_target_modules:\n  - q_proj\n";
  const auto fixed = fix_config(
      text, "axolotl",
      {{"optim.lr", 2e-4}, {"precision.compute", word("bf16")}, {"optim.grad_clip", 1.0}});
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "# my run\nbase_model: some/model  # the base\nsequence_len: 2048\n\nlearning_rate: "
            "0.0002   # too high?\nfp16: false\n"
            "micro_batch_size: 2\nlora_target_modules:\n  - q_proj\n# added by aplomb\nbf16: "
            "true\n# added by aplomb\nmax_grad_norm: 1\n");
  EXPECT_TRUE(fixed->left_out.empty());
  EXPECT_EQ(fixed->changes.front().text(), "learning_rate: 2e-3 -> 0.0002 (line 5)");
}

TEST(FixConfig, TurnsTheOldKeyOffWhereANewOneSaysIt) {
  const auto fixed = fix_config("base_model: m\nsequence_len: 8\nflash_attention: true\n",
                                "axolotl", {{"attn.impl", word("eager")}});
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "base_model: m\nsequence_len: 8\nflash_attention: false\n# added by "
            "aplomb\nattn_implementation: eager\n");
}

TEST(FixConfig, EditsAndExtendsNestedJson) {
  const std::string_view text =
      "{\n  \"fp16\": {\"enabled\": true},\n  \"zero_optimization\": {\n    \"stage\": 2,  \n    "
      "\"overlap_comm\": true\n  }\n}\n";
  const auto fixed = fix_config(text, "deepspeed",
                                {{"dist.zero_stage", 3.0},
                                 {"dist.offload_optimizer", word("cpu")},
                                 {"optim.grad_clip", 1.0}});
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "{\n  \"gradient_clipping\": 1,\n  \"fp16\": {\"enabled\": true},\n  "
            "\"zero_optimization\": {\n"
            "    \"offload_optimizer\": {\"device\": \"cpu\"},\n    \"stage\": 3,  \n    "
            "\"overlap_comm\": true\n  }\n}\n");
}

TEST(FixConfig, ChangesPrecisionInDeepSpeedWithoutTouchingWhatItImplies) {
  const auto fixed = fix_config(
      "{\"fp16\": {\"enabled\": true}, \"bf16\": {\"enabled\": false}, \"gradient_clipping\": 1.0}",
      "deepspeed", {{"precision.compute", word("bf16")}});
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "{\"fp16\": {\"enabled\": false}, \"bf16\": {\"enabled\": true}, "
            "\"gradient_clipping\": 1.0}");
}

TEST(FixConfig, EditsACommandLineAndAddsFlagsBehindTheScript) {
  const std::string_view text =
      "#!/bin/bash\ntorchrun --nproc_per_node=8 train.py \\\n    --learning_rate 1e-3 \\\n    "
      "--fp16 \\\n    --output_dir out\n";
  const auto fixed = fix_config(
      text, "hf-trainer",
      {{"optim.lr", 2e-5}, {"precision.compute", word("bf16")}, {"schedule.warmup_frac", 0.05}},
      "run.sh");
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "#!/bin/bash\ntorchrun --nproc_per_node=8 train.py \\\n    --bf16 True \\\n    "
            "--warmup_ratio 0.05 \\\n"
            "    --learning_rate 2.0e-05 \\\n    --fp16 False \\\n    --output_dir out\n");
}

TEST(FixConfig, EditsTomlWithinItsTable) {
  const std::string_view text =
      "[optimizer]\nname = \"AdamW\"  # as in the paper\nlr = 8e-4\n\n[training]\nsteps = 100\n";
  const auto fixed = fix_config(
      text, "torchtitan",
      {{"optim.lr", 3e-4}, {"optim.grad_clip", 1.0}, {"schedule.warmup_steps", 200.0}}, "a.toml");
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "[optimizer]\nname = \"AdamW\"  # as in the paper\nlr = 0.0003\n\n[training]\n# added "
            "by aplomb\nmax_norm = 1\n"
            "steps = 100\n# added by aplomb\n[lr_scheduler]\nwarmup_steps = 200\n");
}

TEST(FixConfig, EditsKeywordsInPython) {
  const auto fixed =
      fix_config("args = TrainingArguments(\n    learning_rate=5e-3,  # ?\n    fp16=True,\n)\n",
                 "hf-trainer", {{"optim.lr", 5e-5}}, "t.py");
  ASSERT_TRUE(fixed) << fixed.error().text;
  EXPECT_EQ(fixed->text,
            "args = TrainingArguments(\n    learning_rate=5.0e-05,  # ?\n    fp16=True,\n)\n");
}

TEST(FixConfig, ReadsBackWithTheNewValues) {
  const std::string_view text =
      "base_model: m\nsequence_len: 8\nlearning_rate: 1e-3\noptimizer: adamw_torch\n";
  const Settings settings = {{"optim.lr", 1e-4}, {"optim.grad_clip", 0.5}};
  const auto once = fix_config(text, "axolotl", settings);
  ASSERT_TRUE(once) << once.error().text;
  const auto twice = fix_config(once->text, "axolotl", settings);
  ASSERT_TRUE(twice) << twice.error().text;
  EXPECT_EQ(once->text, twice->text);  // what is set already is no change
}

TEST(FixConfig, RefusesWhatItCannotDoAndSaysWhy) {
  const auto none =
      fix_config("epochs: 3\nlr0: 0.01\nimgsz: 640\nbatch: 16\n", "yolo", {{"rl.beta", 0.1}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, core::ErrorCode::unsupported);
  EXPECT_NE(none.error().text.find("rl.beta"), std::string::npos);
  const auto prose = fix_config("dear diary\n", "", {{"optim.lr", 0.1}});
  ASSERT_FALSE(prose);
  EXPECT_EQ(prose.error().code, core::ErrorCode::bad_format);
}

}  // namespace
}  // namespace aplomb::fix
