#include "train/text/text_codec.h"

#include <gmock/gmock.h>

#include "train/tests/text/small_model.h"

namespace aplomb::train::text {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TextCodecTest : public SmallModelTest {
 protected:
  void config(const std::string& content) { write("tokenizer_config.json", content); }
};

TEST_F(TextCodecTest, AddsAPaddingTokenWhereNoneIsDeclared) {
  EXPECT_EQ(codec().pad, 262);
  EXPECT_TRUE(codec().pad_added);
  EXPECT_EQ(codec().rows_needed(), 263);
  EXPECT_EQ(codec().tokenizer.id_to_token(262), "<|pad|>");
  EXPECT_THAT(codec().notices, Contains(HasSubstr("was added with id 262")));
  EXPECT_EQ(codec().eos, 2);
  EXPECT_EQ(codec().bos, 1);
}

TEST_F(TextCodecTest, NeverPadsWithTheEndNorTheUnknownNorAWord) {
  for (const char* pad : {"</s>", "<s>", "<unk>", "!", "<absent>"}) {
    codec_.reset();
    config(fmt::format(
        R"({{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "{}"}})",
        pad));
    EXPECT_TRUE(codec().pad_added) << pad;
    EXPECT_THAT(codec().notices, Contains(HasSubstr(pad)));
  }
}

TEST_F(TextCodecTest, ADedicatedTokenIsTaken) {
  config(R"({"eos_token": "</s>", "pad_token": "<|e|>"})");
  EXPECT_FALSE(codec().pad_added);
  EXPECT_EQ(codec().tokenizer.id_to_token(codec().pad), "<|e|>");
}

TEST_F(TextCodecTest, ReadsTheEndFromTheModelsConfigWhereTheTokenizerHasNone) {
  config("{}");
  write("config.json", R"({"eos_token_id": [2, 261], "bos_token_id": 1})");
  EXPECT_EQ(codec().eos, 2);
  EXPECT_EQ(codec().eos_token, "</s>");
}

TEST_F(TextCodecTest, SaysWhereNoEndIsDeclared) {
  config("{}");
  EXPECT_FALSE(codec().eos);
  EXPECT_THAT(codec().notices, Contains(HasSubstr("no end-of-sequence token")));
}

TEST_F(TextCodecTest, HoldsTheVocabularyAgainstTheModel) {
  EXPECT_TRUE(codec().fits(259));
  EXPECT_THAT(codec().doubt(261), HasSubstr("\"<|e|>\" (261)"));
  EXPECT_EQ(codec().doubt(262), "");  // only the token that was added here has no row
  const auto small = codec().fits(258);
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().text, HasSubstr("ids up to 258"));
  EXPECT_EQ(codec().doubt(320), "");
  EXPECT_THAT(codec().doubt(32000), HasSubstr("32000 rows"));
}

TEST_F(TextCodecTest, AFolderWithoutATokenizerIsAnErrorThatSaysHowToMakeOne) {
  std::filesystem::remove(folder_ / "tokenizer.json");
  const auto opened = TextCodec::open(folder_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text, HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace aplomb::train::text
