#include "train/loop/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "core/folder.h"

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

constexpr const char* k_least[] = {"--base-model=m", "--data-path=d.json"};

Parsed parse(std::vector<std::string> words, TrainOptions& options) {
  words.insert(words.begin(), std::begin(k_least), std::end(k_least));
  return parse_options(std::move(words), options);
}

TEST(Options, TakeTheFlagsOfTheScriptsThatPeopleHave) {
  TrainOptions options;
  const Parsed parsed =
      parse({"--adapter_name=dora", "--num_epochs=1", "--bf16=True", "--save_step=999999",
             "--per_device_train_batch_size", "1", "--batch_size", "8", "--learning_rate=3e-6",
             "--use_gradient_checkpointing=True", "--disable_flash_sdpa=True",
             "--attn_implementation=eager", "--lora_target_modules=q_proj,v_proj"},
            options);
  ASSERT_FALSE(parsed.stop) << parsed.text;
  EXPECT_EQ(options.adapter.adapter_name, "dora");
  EXPECT_TRUE(options.precision.bf16);
  EXPECT_TRUE(options.precision.use_gradient_checkpointing);
  EXPECT_TRUE(options.precision.disable_flash_sdpa);
  EXPECT_EQ(options.output.save_step, 999999);
  EXPECT_EQ(options.length.batch_size, 8);
  EXPECT_EQ(options.length.per_device_train_batch_size, 1);
  EXPECT_DOUBLE_EQ(options.peak_learning_rate(), 3e-6);
  EXPECT_THAT(options.adapter.target_modules, ::testing::ElementsAre("q_proj", "v_proj"));
}

TEST(Options, APassThatNobodyAskedForFitsTheBatch) {
  for (const auto& [batch, pass] : {std::pair(10, 2), {8, 4}, {9, 3}, {7, 1}, {3, 3}}) {
    TrainOptions options;
    const Parsed parsed = parse({"--batch_size=" + std::to_string(batch)}, options);
    ASSERT_FALSE(parsed.stop) << parsed.text;
    EXPECT_EQ(std::min(options.length.per_device_train_batch_size, options.length.batch_size),
              pass);
  }
  TrainOptions options;
  EXPECT_TRUE(parse({"--batch_size=10", "--per_device_train_batch_size=4"}, options).stop);
}

TEST(Options, AFlagOverridesTheFileAndTheLastWordWins) {
  const test::Folder folder;
  const std::string file =
      folder.write("t.yaml",
                   "learning_rate: 1e-4\nbatch-size: 32\nbf16: true\n"
                   "target_modules: [q_proj, k_proj]\noutput_dir: 'a b'\nchat_template:\n");
  TrainOptions options;
  const Parsed parsed = parse(
      {"--learning-rate=5e-5", "--config", file, "--bf16=false", "--learning-rate=7e-5"}, options);
  ASSERT_FALSE(parsed.stop) << parsed.text;
  EXPECT_DOUBLE_EQ(options.peak_learning_rate(), 7e-5);
  EXPECT_EQ(options.length.batch_size, 32);
  EXPECT_FALSE(options.precision.bf16);
  EXPECT_EQ(options.output.output_dir, "a b");
  EXPECT_THAT(options.adapter.target_modules, ::testing::ElementsAre("q_proj", "k_proj"));
}

TEST(Options, TheYamlThatARunLeavesGivesTheSameOptionsBack) {
  TrainOptions options;
  ASSERT_FALSE(parse({"--learning-rate=3.3e-5", "--adapter-name=full", "--packing",
                      "--val-set-size=0.125", "--output-dir=a \"b\\c", "--guard=false",
                      "--warmup-steps=7", "--seed=18446744073709551615", "--tf32=false"},
                     options)
                   .stop);
  const test::Folder folder;
  const std::string written = options_yaml(options);
  TrainOptions back;
  const Parsed parsed = parse_options({"--config=" + folder.write("o.yaml", written)}, back);
  ASSERT_FALSE(parsed.stop) << parsed.text;
  EXPECT_EQ(options_yaml(back), written);
  EXPECT_FALSE(back.guard.guard);
  EXPECT_EQ(back.length.seed, 18446744073709551615ULL);
}

TEST(Options, WrongUseIsToldWithItsReason) {
  const test::Folder folder;
  const struct {
    std::vector<std::string> words;
    const char* said;
  } cases[] = {
      {{"--batch-size=10", "--micro-batch-size=4"}, "no multiple"},
      {{"--bf16", "--fp16"}, "exclude each other"},
      {{"--precision=fp32", "--fp16"}, "exclude each other"},
      {{"--precision=fp8"}, "--precision"},
      {{"--max-shard-size=big"}, "is no size"},
      {{"--max-shard-size=0"}, "is no size"},
      {{"--lora-r=0"}, "--lora-r"},
      {{"--adapter-name=vera"}, "--adapter-name"},
      {{"--no-such-thing"}, "--no-such-thing"},
      {{"--learning-rate=fast"}, "--learning-rate"},
      {{"--num-epochs=0"}, "no step would be taken"},
      {{"--config=/no/such.yaml"}, "cannot be read"},
      {{"--config=" + folder.write("u.yaml", "lerning_rate: 1\n")}, "no option lerning-rate"},
      {{"--config=" + folder.write("m.yaml", "seed: 1\noptim:\n  lr: 1\n")}, "m.yaml:2"},
      {{"--config=" + folder.write("b.yaml", "a: [1\n")}, "b.yaml:"},
  };
  for (const auto& each : cases) {
    TrainOptions options;
    const Parsed parsed = parse(each.words, options);
    EXPECT_TRUE(parsed.stop) << each.said;
    EXPECT_EQ(parsed.status, 2) << each.said;
    EXPECT_THAT(parsed.text, HasSubstr(each.said));
  }
  TrainOptions options;
  EXPECT_THAT(parse_options({"--data-path=d"}, options).text, HasSubstr("--base-model"));
}

TEST(Options, ShortFormsOfThePrecisionSayTheSame) {
  TrainOptions options;
  ASSERT_FALSE(parse({"--bf16"}, options).stop);
  EXPECT_EQ(*wanted_precision(options.precision), "bf16");
  ASSERT_FALSE(parse({"--precision=bf16", "--bf16"}, options).stop);
  EXPECT_EQ(*wanted_precision(options.precision), "bf16");
  EXPECT_EQ(*wanted_precision({}), "auto");
}

TEST(Options, AnEmptyValueTakesBackWhatTheFileSays) {
  const test::Folder folder;
  TrainOptions options;
  const Parsed parsed = parse(
      {"--config=" + folder.write("t.yaml", "tokenizer: elsewhere\n"), "--tokenizer=", "--seed=7"},
      options);
  ASSERT_FALSE(parsed.stop) << parsed.text;
  EXPECT_EQ(options.model.tokenizer, "");
  EXPECT_EQ(options.length.seed, 7U);
}

TEST(Options, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(bytes_of("5GB"), 5'000'000'000U);
  EXPECT_EQ(bytes_of("1.5 MiB"), 1'572'864U);
  EXPECT_EQ(bytes_of("300kb"), 300'000U);
  EXPECT_EQ(bytes_of("12"), 12U);
  for (const char* none : {"", "GB", "-1GB", "5XB", "nan", "1e30"})
    EXPECT_EQ(bytes_of(none), std::nullopt) << none;
}

TEST(Options, HelpIsGroupedAndShowsDefaults) {
  TrainOptions options;
  const Parsed parsed = parse_options({"--help"}, options);
  EXPECT_TRUE(parsed.stop);
  EXPECT_EQ(parsed.status, 0);
  for (const char* part : {"Model:", "Data:", "Adapter:", "Optimizer and schedule:", "Output:",
                           "--max-grad-norm", "cosine"})
    EXPECT_THAT(parsed.text, HasSubstr(part));
}

}  // namespace
}  // namespace aplomb::train::loop
