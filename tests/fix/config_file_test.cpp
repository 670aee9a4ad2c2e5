#include "fix/config_file.h"

#include <gtest/gtest.h>

#include "fix/fix.h"

namespace aplomb::fix {
namespace {

TEST(ConfigFile, TheNameTellsTheSyntaxWhereItSaysSoElseTheText) {
  const struct {
    const char* path;
    const char* text;
    ConfigSyntax syntax;
  } files[] = {
      {"a.yml", "{\"lr\": 1}", ConfigSyntax::yaml},
      {"", "{\"train_batch_size\": 8}", ConfigSyntax::json},
      {"", "python train.py --learning_rate 1e-3\n", ConfigSyntax::command},
      {"", "learning_rate: 1e-3\nbatch: 8\n", ConfigSyntax::yaml},
      {"", "lr = 0.1\nbatch_size = 8\n", ConfigSyntax::toml},
      {"", "args = TrainingArguments(\n    learning_rate=5e-3)\n", ConfigSyntax::python},
      {"run.sh", "echo\n", ConfigSyntax::command},
  };
  for (const auto& each : files) {
    SCOPED_TRACE(each.text);
    const ConfigFile file = read_config_file(each.text, each.path);
    EXPECT_EQ(name_of(file.syntax), name_of(each.syntax));
    EXPECT_EQ(file.text, each.text);
  }
}

/// One reading serves every question and every edit.
TEST(ConfigFile, OfOneReadingAnyNumberOfFixesIsMade) {
  const ConfigFile file = read_config_file(
      "base_model: m\nsequence_len: 8\nlearning_rate: 1e-3\noptimizer: adamw_torch\n", "c.yml");
  EXPECT_EQ(file.framework, "axolotl");
  ASSERT_EQ(file.entries.size(), 4U);
  const auto rate = fix_config(file, {}, {{"optim.lr", 1e-4}});
  const auto clip = fix_config(file, "axolotl", {{"optim.grad_clip", 0.5}});
  ASSERT_TRUE(rate && clip);
  EXPECT_NE(rate->text.find("learning_rate: 0.0001\n"), std::string::npos) << rate->text;
  EXPECT_NE(clip->text.find("learning_rate: 1e-3\n"), std::string::npos) << clip->text;
  EXPECT_NE(clip->text.find("max_grad_norm: 0.5\n"), std::string::npos) << clip->text;
}

}  // namespace
}  // namespace aplomb::fix
