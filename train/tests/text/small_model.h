#pragma once
/// A model folder made on the spot: every byte a token of its own, <s> before each text, a chat
/// template, and what a test changes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "train/text/byte_level.h"
#include "train/text/text_codec.h"

namespace aplomb::train::text {

/// 256 byte tokens (ids 3 to 258), <unk> <s> </s> before them, <|u|> <|a|> <|e|> after them.
inline std::string small_tokenizer_json() {
  std::string vocab = R"("<unk>": 0, "<s>": 1, "</s>": 2)";
  int id = 3;
  for (const std::string& character : byte_characters()) {
    const bool escaped = character == "\"" || character == "\\";
    vocab += fmt::format(R"(, "{}{}": {})", escaped ? "\\" : "", character, id++);
  }
  std::string added;
  int added_id = 0;
  for (const char* token : {"<unk>", "<s>", "</s>"})
    added += fmt::format(R"({{"id": {}, "content": "{}", "special": true}}, )", added_id++, token);
  for (const char* token : {"<|u|>", "<|a|>", "<|e|>"})
    added += fmt::format(R"({{"id": {}, "content": "{}", "special": true}}, )", id++, token);
  added.resize(added.size() - 2);
  return fmt::format(
      R"({{"added_tokens": [{}], "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false}},
          "decoder": {{"type": "ByteLevel"}}, "post_processor": {{"type": "TemplateProcessing",
          "single": [{{"SpecialToken": {{"id": "<s>", "type_id": 0}}}}, {{"Sequence": {{"id": "A", "type_id": 0}}}}],
          "special_tokens": {{"<s>": {{"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}}}},
          "model": {{"type": "BPE", "vocab": {{{}}}, "merges": []}}}})",
      added, vocab);
}

class SmallModelTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("aplomb-text-{}-{}-{}", test->test_suite_name(), test->name(),
                          testing::UnitTest::GetInstance()->random_seed());
    std::filesystem::create_directories(folder_);
    write("tokenizer.json", small_tokenizer_json());
    write("tokenizer_config.json",
          R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "unk_token": "<unk>"})");
    write("chat_template.jinja",
          "{% for m in messages %}{{ ('<|u|>' if m.role == 'user' else '<|a|>') + m.content + "
          "'<|e|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|a|>' }}{% endif %}");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  const TextCodec& codec() {
    if (!codec_) {
      auto opened = TextCodec::open(folder_);
      EXPECT_TRUE(opened) << opened.error().text;
      codec_.emplace(std::move(*opened));
    }
    return *codec_;
  }

  std::filesystem::path folder_;
  std::optional<TextCodec> codec_;
};

}  // namespace aplomb::train::text
