#include "knowledge/render.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "knowledge/named_model.h"
#include "knowledge/setting.h"
#include "knowledge/written_key.h"

namespace aplomb::knowledge {
namespace {

const std::vector<SettingValue> k_remedy = {{"optim.lr", core::Value(2e-5)},
                                            {"precision.compute", core::Value(std::string("bf16"))},
                                            {"optim.grad_clip", core::Value(1.0)}};

TEST(RenderSettings, WritesAxolotlYamlWithTheOtherSwitchOff) {
  EXPECT_EQ(render_settings("axolotl", k_remedy),
            "learning_rate: 2.0e-05\nbf16: true\nfp16: false\nmax_grad_norm: 1");
}

TEST(RenderSettings, WritesHuggingFaceAsCodeAndAsFlags) {
  EXPECT_EQ(
      render_settings("hf-trainer", k_remedy),
      "TrainingArguments(..., learning_rate=2.0e-05, bf16=True, fp16=False, max_grad_norm=1)");
  EXPECT_EQ(render_settings("hf-trainer", k_remedy, "flags"),
            "--learning_rate 2.0e-05 --bf16 True --fp16 False --max_grad_norm 1");
}

TEST(RenderSettings, TakesTheClassOfWhatIsTrainedFor) {
  const std::vector<SettingValue> rate = {{"optim.lr", core::Value(1e-6)}};
  EXPECT_EQ(render_settings("trl", rate, {}, {}, "grpo"), "GRPOConfig(..., learning_rate=1.0e-06)");
  EXPECT_EQ(render_settings("trl", rate), "SFTConfig(..., learning_rate=1.0e-06)");
}

TEST(RenderSettings, LeavesOutWhatTheClassDoesNotTake) {
  const std::vector<SettingValue> packing = {{"data.packing", core::Value(false)}};
  EXPECT_EQ(render_settings("trl", packing), "SFTConfig(..., packing=False)");
  EXPECT_EQ(render_settings("trl", packing, {}, {}, "dpo"), "");
  const std::vector<SettingValue> beta = {{"rl.beta", core::Value(0.1)}};
  EXPECT_EQ(render_settings("trl", beta, {}, {}, "dpo"), "DPOConfig(..., beta=0.1)");
  EXPECT_EQ(render_settings("trl", beta, {}, {}, "grpo"), "GRPOConfig(..., beta=0.1)");
}

TEST(RenderSettings, TakesTheNameThatTheVersionHas) {
  const std::vector<SettingValue> length = {{"data.max_length", core::Value(1024.0)}};
  EXPECT_EQ(render_settings("trl", length, {}, {{"trl", "0.14.0"}}),
            "SFTConfig(..., max_seq_length=1024)");
  EXPECT_EQ(render_settings("trl", length, {}, {{"trl", "1.16.0"}}),
            "SFTConfig(..., max_length=1024)");
}

TEST(RenderSettings, WritesNestedJsonOfDeepSpeed) {
  EXPECT_EQ(
      render_settings("deepspeed", {{"dist.zero_stage", core::Value(3.0)},
                                    {"dist.offload_optimizer", core::Value(std::string("cpu"))},
                                    {"optim.beta2", core::Value(0.95)}}),
      "{\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"offload_optimizer\": {\n      "
      "\"device\": \"cpu\"\n"
      "    }\n  },\n  \"optimizer\": {\n    \"params\": {\n      \"betas\": [\n        "
      "null,\n        0.95\n"
      "      ]\n    }\n  }\n}");
}

TEST(RenderSettings, GivesInheritedKeysInTheFrameworksOwnSyntaxAndOthersTheirOwnPlace) {
  EXPECT_EQ(render_settings("llamafactory", {{"optim.grad_clip", core::Value(0.5)},
                                             {"data.max_length", core::Value(1024.0)}}),
            "max_grad_norm: 0.5\ncutoff_len: 1024");
  EXPECT_EQ(render_settings("trl", {{"attn.impl", core::Value(std::string("eager"))},
                                    {"peft.rank", core::Value(16.0)}}),
            "SFTConfig(..., model_init_kwargs={\"attn_implementation\": "
            "\"eager\"})\nLoraConfig(..., r=16)");
}

TEST(RenderSettings, TurnsEverySwitchOffForPlainPrecision) {
  EXPECT_EQ(
      render_settings("llamafactory", {{"precision.compute", core::Value(std::string("fp32"))}}),
      "bf16: false\nfp16: false");
}

TEST(RenderSettings, SaysWhatItHasNoKeyFor) {
  const WrittenSettings written =
      write_settings("yolo", {{"rl.beta", core::Value(0.1)}, {"optim.lr", core::Value(0.01)}});
  ASSERT_EQ(written.left_out.size(), 1U);
  EXPECT_EQ(written.left_out[0], "rl.beta");
  EXPECT_EQ(render_settings("yolo", {{"rl.beta", core::Value(0.1)}}), "");
}

TEST(RenderSettings, WritesOnlyWordsThatTheFrameworkTakes) {
  const core::Value bf16 = std::string("bf16");
  EXPECT_EQ(render_settings("mmdet", {{"precision.compute", bf16}}),
            "optim_wrapper.dtype = \"bfloat16\"");
  EXPECT_EQ(render_settings("torchtitan", {{"precision.compute", bf16}}),
            "[training]\nmixed_precision_param = \"bfloat16\"");
  EXPECT_EQ(render_settings("deepspeed", {{"optim.name", core::Value(std::string("adamw_8bit"))}}),
            "");
  EXPECT_EQ(render_settings("deepspeed", {{"schedule.name", core::Value(std::string("cosine"))}}),
            "{\n  \"scheduler\": {\n    \"type\": \"WarmupCosineLR\"\n  }\n}");
  EXPECT_EQ(render_settings("hf-loading", {{"dist.device_map", core::Value(std::string("none"))}}),
            "AutoModelForCausalLM.from_pretrained(..., device_map=None)");
  EXPECT_EQ(render_settings("axolotl", {{"dist.device_map", core::Value(std::string("none"))}}),
            "device_map: null");
}

TEST(RenderSettings, WritesNestedKeysOfACommandLineAsItsParserTakesThem) {
  EXPECT_EQ(render_settings("hf-trainer", {{"memory.checkpointing_reentrant", core::Value(false)}},
                            "flags"),
            "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}'");
  EXPECT_EQ(render_settings("pytorch", {{"seed.benchmark", core::Value(false)}}),
            "torch.backends.cudnn.benchmark = False");
}

TEST(RenderSettings, ChoosesTheKeyOfTheInstalledVersion) {
  const std::vector<SettingValue> warm_up = {{"schedule.warmup_frac", core::Value(0.05)}};
  const auto with = [&](const Versions& versions) {
    return render_settings("hf-trainer", warm_up, "flags", versions);
  };
  EXPECT_EQ(with({}), "--warmup_ratio 0.05");
  EXPECT_EQ(with({{"transformers", "4.57.1"}}), "--warmup_ratio 0.05");
  EXPECT_EQ(with({{"transformers", "5.0.0rc1"}}), "--warmup_steps 0.05");
  EXPECT_EQ(with({{"transformers", "5"}}), "--warmup_steps 0.05");
  EXPECT_EQ(with({{"transformers", "10.1"}}), "--warmup_steps 0.05");
}

/// Every key of every table, written with a value of its type, must read back as that value; but for
/// what is only written.
TEST(RenderSettings, WritesWhatTheSameTableReads) {
  for (const Framework& framework : frameworks()) {
    if (framework.slug == "common" || framework.slug == "environment") continue;
    for (const SettingKey& key : framework.settings) {
      if (key.read_only || key.write_only) continue;
      const SettingSpec* spec = find_setting_spec(key.setting);
      ASSERT_NE(spec, nullptr) << framework.slug << " " << key.key << ": " << key.setting
                               << " is not in settings.yaml";
      std::vector<core::Value> samples;
      for (const auto& [spelled, canonical] : key.values) samples.push_back(canonical);
      if (samples.empty() && spec->type == SettingType::number) samples.emplace_back(0.25);
      if (samples.empty() && spec->type == SettingType::count) samples.emplace_back(12.0);
      if (samples.empty() && spec->type == SettingType::truth) samples.emplace_back(true);
      for (const core::Value& sample : samples) {
        const auto written = written_value_for(key, sample);
        ASSERT_TRUE(written) << framework.slug << " " << key.key;
        const WrittenKey one{&framework, &key, *written, false};
        const auto back = read_setting(framework.slug, key.key, spell(one, framework.syntax));
        const bool same = std::any_of(back.begin(), back.end(), [&](const Assignment& made) {
          return made.spec->name == key.setting && made.value == sample;
        });
        EXPECT_TRUE(same) << framework.slug << " " << key.key << " = "
                          << spell(one, framework.syntax);
      }
    }
  }
}

TEST(RenderSettings, WritesTheKeyUnderWhichTheUserStatesASetting) {
  const std::vector<SettingValue> weight = {{"rl.beta", core::Value(0.04)}};
  EXPECT_EQ(render_settings("axolotl", weight), "rl_beta: 0.04");
  const OwnKeys own = {{"rl.beta", {"trl.beta", "axolotl"}}};
  EXPECT_EQ(render_settings("axolotl", weight, {}, {}, {}, own), "trl:\n  beta: 0.04");
}

TEST(RenderSettings, KeepsAxolotlsWeightsInFp32ByTheKeyThatDecides) {
  EXPECT_EQ(render_settings("axolotl", {{"precision.params", core::Value(std::string("fp32"))},
                                        {"precision.compute", core::Value(std::string("bf16"))}}),
            "bf16: false");
}

TEST(RenderSettings, WritesASwitchOfPyTorchAsItsCall) {
  const std::vector<SettingValue> kernel = {{"attn.cudnn_sdpa", core::Value(false)}};
  EXPECT_EQ(render_settings("hf-trainer", kernel), "torch.backends.cuda.enable_cudnn_sdp(False)");
  EXPECT_EQ(render_settings("hf-trainer", kernel, "flags"), "");
}

TEST(ShowAsWritten, ASwitchNamedAfterWhatItTurnsOffKeepsItsValue) {
  record::Setting setting;
  setting.name = "attn.cudnn_sdpa";
  setting.value = true;
  setting.raw_key = "disable_cudnn_sdpa";
  setting.framework = "finetune-flags";
  EXPECT_EQ(show_as_written(setting), "disable_cudnn_sdpa = false");
  setting.framework = "";
  EXPECT_EQ(show_as_written(setting), "disable_cudnn_sdpa = true");
  setting = {"optim.lr", core::Value(2e-5), "lr", "finetune-flags", {}};
  EXPECT_EQ(show_as_written(setting), "lr = 2e-05");
}

TEST(NamedModel, TheLongestMatchWins) {
  const auto vocabulary = [](std::string_view name) {
    const auto found = named_model(name);
    return found ? number_of(*found, "vocab") : 0;
  };
  EXPECT_EQ(vocabulary("Qwen/Qwen2.5-7B-Instruct"), 152064);
  EXPECT_EQ(vocabulary("mistralai/Mistral-7B-v0.1"), 32000);
  EXPECT_EQ(vocabulary("mistralai/Mistral-7B-v0.3"), 32768);
  EXPECT_EQ(vocabulary("Qwen2.5_7B"), 152064);
  EXPECT_EQ(vocabulary("my-own"), 0);
}

TEST(SaySettings, SpeaksInTheUsersKeysElseInWords) {
  const std::vector<SettingValue> change = {{"optim.lr", core::Value(3e-6)},
                                            {"memory.gradient_checkpointing", core::Value(true)}};
  EXPECT_EQ(say_settings(change), "learning rate: 3e-06\ngradient checkpointing: on");
  const OwnKeys own = {{"optim.lr", {"learning_rate", "common"}}};
  EXPECT_EQ(say_settings({change.front()}, own), "learning_rate: 3.0e-06");
  // A key that cannot say the value is not written.
  const OwnKeys odd = {{"memory.gradient_checkpointing", {"checkpoint_every", "nothing"}}};
  EXPECT_EQ(say_settings({change.back()}, odd), "gradient checkpointing: on");
}

}  // namespace
}  // namespace aplomb::knowledge
