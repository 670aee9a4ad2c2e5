#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

constexpr std::string_view k_titan = R"([model]
name = "llama3"
flavor = "8B"
[optimizer]
name = "AdamW"
lr = 3e-4
eps = 1e-8
[training]
local_batch_size = 1
seq_len = 8192
max_norm = 1.0  # clip
steps = 1000
mixed_precision_param = "bfloat16"
[activation_checkpoint]
mode = "selective"
)";

TEST(ConfigToml, ReadsTorchtitan) {
  const aplomb::record::Run run = test::read_with("config-toml", k_titan);
  EXPECT_EQ(run.sources[0].framework, "torchtitan");
  const auto found = test::settings_of("config-toml", k_titan);
  EXPECT_EQ(found.at("optim.lr"), "0.0003");
  EXPECT_EQ(found.at("optim.grad_clip"), "1");
  EXPECT_EQ(found.at("precision.compute"), "bf16");
  EXPECT_EQ(found.at("memory.gradient_checkpointing"), "true");
  EXPECT_EQ(found.at("train.max_steps"), "1000");
  EXPECT_EQ(k_titan.substr(run.setting("optim.lr")->origin.offset, 4), "3e-4");
}

TEST(ConfigToml, SaysWhereAMistakeIs) {
  const aplomb::record::Run run = test::read_with("config-toml", "[optimizer]\nlr = = 1\n");
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_NE(run.defects[0].text.find("line 2"), std::string::npos);
}

TEST(ConfigToml, KnowsItsOwn) {
  EXPECT_EQ(test::chosen_reader("train.toml", k_titan), "config-toml");
}

}  // namespace
}  // namespace aplomb::sources
