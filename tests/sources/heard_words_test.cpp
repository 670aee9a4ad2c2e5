#include "sources/heard_words.h"

#include <gtest/gtest.h>

#include "knowledge/word_book.h"
#include "sources/reader_support.h"

namespace aplomb {
namespace {

using knowledge::WordBook;

std::string words_of(std::string_view reader, std::string_view text) {
  const aplomb::Run run = test::read_with(reader, text, 1U << 20U, "reported.txt");
  for (const Fact& fact : run.facts) {
    if (fact.name == WordBook::k_fact) return '|' + *as_text(fact.value) + '|';
  }
  return {};
}

TEST(HeardWords, AreThoseOfNotesAndLogsThatTheBookKnows) {
  for (const char* reader : {"settings-text", "text-log"}) {
    const std::string words = words_of(reader, "the loss is nan\nzzyzx\n");
    EXPECT_NE(words.find("|nan|"), std::string::npos) << reader;
    EXPECT_EQ(words.find("zzyzx"), std::string::npos) << reader;
  }
}

TEST(HeardWords, OfALongTextAreTheTrainersOwn) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "the loss is nan\n";
  EXPECT_EQ(words_of("text-log", text), "");
}

}  // namespace
}  // namespace aplomb
