#include "knowledge/setting.h"

#include <gtest/gtest.h>

#include <set>

#include "knowledge/written_value.h"

namespace aplomb::knowledge {
namespace {

core::Value first(std::string_view framework, std::string_view key, std::string_view written) {
  const auto made = read_setting(framework, key, written);
  return made.empty() ? core::Value(std::string("nothing")) : made.front().value;
}
const core::Value k_nothing = std::string("nothing");

TEST(Settings, ReadNumbersAsPeopleWriteThem) {
  EXPECT_EQ(written_number("5 * 8"), 40);
  EXPECT_EQ(written_number("2**16"), 65536);
  EXPECT_EQ(written_number("10%"), 0.1);
  EXPECT_FALSE(written_number("5 apples"));
  EXPECT_EQ(written_count("22K"), 22000);
  EXPECT_EQ(written_count("4,194,304"), 4194304);
  EXPECT_EQ(written_count("7B"), 7e9);
  EXPECT_FALSE(written_count("-1"));
  EXPECT_FALSE(written_count("0.5"));
  EXPECT_EQ(written_seconds("timedelta(minutes=30)"), 1800);
  EXPECT_EQ(written_seconds("0:30:00"), 1800);
  EXPECT_EQ(written_bytes("24576MiB"), 24576.0 * 1024 * 1024);
  EXPECT_EQ(written_version("v0.12.6, unknown"), "0.12.6");
}

TEST(Settings, MeanByFrameworkWhatTheKeyMeansThere) {
  EXPECT_EQ(first("nanogpt", "dtype", "'float16'"), core::Value(std::string("fp16")));
  EXPECT_EQ(read_setting("nanogpt", "dtype", "float16").front().spec->name, "precision.compute");
  EXPECT_EQ(read_setting("torchtune", "dtype", "bf16").front().spec->name, "precision.params");
  EXPECT_EQ(read_setting("deepspeed", "train_batch_size", "64").front().spec->name, "batch.global");
  EXPECT_EQ(read_setting("", "train_batch_size", "64").front().spec->name, "batch.micro");
}

TEST(Settings, TakeNothingFromValuesThatSayNothing) {
  for (const char* written : {"auto", "null", "None", "${lr}", "", "???"}) {
    EXPECT_EQ(first("hf-trainer", "learning_rate", written), k_nothing) << written;
  }
  // A switch that is off says nothing of the format; that it is off is kept.
  for (const Assignment& each : read_setting("hf-trainer", "bf16", "false"))
    EXPECT_EQ(each.spec->name, "precision.bf16_flag");
  EXPECT_EQ(first("hf-trainer", "max_steps", "-1"), k_nothing);
  EXPECT_EQ(first("", "model_name", "12.5"), k_nothing);
  EXPECT_EQ(first("", "surely_nobodys_key", "1"), k_nothing);
}

TEST(Settings, CompareKeysWithoutCaseDashesAndBlanks) {
  EXPECT_EQ(first("megatron", "--Micro-Batch-Size", "4"), core::Value(4.0));
  EXPECT_EQ(first("hf-trainer", "Gradient Accumulation steps", "8"), core::Value(8.0));
}

TEST(Settings, KeepTheBlankInsideQuotes) {
  EXPECT_EQ(first("trl", "response_template", "'Answer: '"), core::Value(std::string("Answer: ")));
}

TEST(Settings, TellTheFrameworkByItsKeys) {
  EXPECT_EQ(
      framework_by_keys(
          {"zero_optimization.stage", "train_micro_batch_size_per_gpu", "fp16.enabled"}, "json"),
      "deepspeed");
  EXPECT_EQ(framework_by_keys({"base_model", "sequence_len", "micro_batch_size", "datasets.path"},
                              "yaml"),
            "axolotl");
  EXPECT_EQ(framework_by_keys({"finetuning_type", "stage", "cutoff_len", "template"}, "yaml"),
            "llamafactory");
  EXPECT_EQ(framework_by_keys({"model", "data", "lr"}, "yaml"), "");
}

TEST(Settings, TellNoFrameworkWhereTwoTablesFitAboutAlike) {
  EXPECT_EQ(framework_by_keys({"learning_rate", "warmup_steps", "max_steps", "optimizer",
                               "grad_clip", "precision", "batch_size"},
                              "yaml"),
            "");
  // Tables of one kin are no rivals: LLaMA-Factory takes the keys of the trainer below it.
  EXPECT_EQ(framework_by_keys({"finetuning_type", "stage", "cutoff_len", "template",
                               "learning_rate", "per_device_train_batch_size", "warmup_ratio"},
                              "yaml"),
            "llamafactory");
}

TEST(Settings, EverySpecIsNamedOnceAndExplained) {
  std::set<std::string> names;
  for (const SettingSpec& spec : setting_specs()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_FALSE(spec.meaning.empty()) << spec.name;
    EXPECT_TRUE(spec.type == SettingType::word || spec.words.empty()) << spec.name;
  }
}

TEST(Settings, EveryKeyOfEveryFrameworkNamesADeclaredSetting) {
  for (const Framework& framework : frameworks()) {
    for (const SettingKey& key : framework.settings) {
      EXPECT_NE(find_setting_spec(key.setting), nullptr)
          << framework.slug << ": " << key.key << " -> " << key.setting;
    }
    EXPECT_TRUE(framework.extends.empty() || find_framework(framework.extends) != nullptr)
        << framework.slug;
    for (const std::string& other : framework.also)
      EXPECT_NE(find_framework(other), nullptr) << framework.slug << ": " << other;
  }
}

}  // namespace
}  // namespace aplomb::knowledge
