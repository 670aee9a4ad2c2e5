#include "train/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aplomb::train::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A tokenizer.json with `model` members and parts of its own.
std::string file_with(const std::string& parts) { return "{" + parts + "}"; }

constexpr const char* k_small_model =
    R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "abc": 4},
                 "merges": ["a b", ["ab", "c"]]})";

TEST(Tokenizer, MergesTheLowestRankFirstHoweverMergesAreWritten) {
  const auto tokenizer = Tokenizer::parse(file_with(k_small_model), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().text;
  EXPECT_THAT(tokenizer->encode("abcab"), ElementsAre(4, 2));
  EXPECT_THAT(tokenizer->encode("ca"), ElementsAre(3, 0));
  EXPECT_EQ(tokenizer->vocabulary(), 5);
}

TEST(Tokenizer, LongWordsGoTheSameWayAsShortOnes) {
  const auto tokenizer = Tokenizer::parse(file_with(k_small_model), "t.json");
  ASSERT_TRUE(tokenizer);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += i % 3 == 0 ? "abc" : "cab";
  const auto whole = tokenizer->encode(text);
  std::vector<std::int32_t> parts;
  for (std::size_t i = 0; i < text.size(); i += 9) {
    const auto part = tokenizer->encode(text.substr(i, 9));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(tokenizer->decode(whole), tokenizer->decode(parts));
  EXPECT_EQ(whole, parts);  // every 9 bytes: abc cab cab, which no merge joins to the next
}

TEST(Tokenizer, NamesThePartThatIsNotSupported) {
  const auto error = [](const std::string& part) {
    const auto made = Tokenizer::parse(file_with(part + "," + k_small_model), "t.json");
    return made ? std::string("opened") : made.error().text;
  };
  EXPECT_THAT(error(R"("normalizer": {"type": "Precompiled"})"),
              HasSubstr("normalizer \"Precompiled\""));
  EXPECT_THAT(error(R"("pre_tokenizer": {"type": "UnicodeScripts"})"),
              HasSubstr("pre_tokenizer \"UnicodeScripts\""));
  EXPECT_THAT(error(R"("decoder": {"type": "CTC"})"), HasSubstr("decoder \"CTC\""));
  EXPECT_THAT(error(R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated",
                       "pattern": {"Regex": "(a"}})"),
              HasSubstr("does not compile"));
  const auto unigram = Tokenizer::parse(R"({"model": {"type": "Unigram", "vocab": []}})", "t.json");
  ASSERT_FALSE(unigram);
  EXPECT_THAT(unigram.error().text, HasSubstr("model \"Unigram\""));
}

TEST(Tokenizer, BrokenFilesAreErrorsNotCrashes) {
  for (const char* text :
       {"", "{", "[]", "3", R"({"model": 3})", R"({"model": {"type": "BPE"}})",
        R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})",
        R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})",
        R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})",
        R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})"}) {
    const auto made = Tokenizer::parse(text, "broken.json");
    ASSERT_FALSE(made) << text;
    EXPECT_THAT(made.error().text, HasSubstr("broken.json")) << text;
  }
  const auto absent = Tokenizer::open("/nowhere");
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().text, HasSubstr("/nowhere"));
}

TEST(Tokenizer, TakesTheLongestAddedTokenAndTheBlanksThatItClaims) {
  const auto made = Tokenizer::parse("{" + std::string(R"("added_tokens": [
        {"content": "<s>", "id": 5, "special": true},
        {"content": "<s>x", "id": 6, "special": true, "rstrip": true, "lstrip": true}],)") +
                                         k_small_model + "}",
                                     "t.json");
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_THAT(made->encode("a<s>b"), ElementsAre(0, 5, 1));
  EXPECT_THAT(made->encode("a  <s>x  b"), ElementsAre(0, 6, 1));
  EXPECT_EQ(made->vocabulary(), 7);
  EXPECT_TRUE(made->warnings().empty());
}

TEST(Tokenizer, AddsASpecialTokenWithTheNextFreeId) {
  auto tokenizer = Tokenizer::parse(file_with(k_small_model), "t.json");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->add_special_token("<|pad|>"), 5);
  EXPECT_EQ(tokenizer->add_special_token("<|pad|>"), 5);
  EXPECT_EQ(tokenizer->vocabulary(), 6);
  EXPECT_THAT(tokenizer->encode("a<|pad|>b"), ElementsAre(0, 5, 1));
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{0, 5, 1}, true), "a b");
}

}  // namespace
}  // namespace aplomb::train::text
