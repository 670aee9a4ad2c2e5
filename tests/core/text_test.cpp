#include "core/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::core {
namespace {

TEST(Text, NumbersReadAsTrainersPrintThem) {
  EXPECT_DOUBLE_EQ(*parse_number("2.5e-05"), 2.5e-05);
  EXPECT_DOUBLE_EQ(*parse_number("1.2E+00"), 1.2);
  EXPECT_DOUBLE_EQ(*parse_number("-.5"), -0.5);
  EXPECT_DOUBLE_EQ(*parse_number("1,234,567"), 1234567);
  EXPECT_DOUBLE_EQ(*parse_number("1_000"), 1000);
  EXPECT_TRUE(std::isnan(*parse_number("NaN")));
  EXPECT_TRUE(std::isinf(*parse_number("-Infinity")));
  EXPECT_DOUBLE_EQ(*parse_number("1e-999"), 0);
  EXPECT_TRUE(std::isinf(*parse_number("1e999")));
  for (const char* bad : {"", "-", "abc", "1.2x", "nano", "1,,2", "e5", "--1"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
}

TEST(Text, SanitizeMakesVisibleWhatHides) {
  const std::pair<const char*, const char*> k_hidden[] = {
      {"a\xC2\x9B"
       "2Jb",
       "a<U+009B>2Jb"},  // CSI of 8 bits: a terminal obeys it
      {"\xC2\x80\xC2\x9F", "<U+0080><U+009F>"},
      {"user\xE2\x80\xAEnimda", "user<U+202E>nimda"},  // right-to-left override
      {"\xE2\x81\xA6x\xE2\x81\xA9", "<U+2066>x<U+2069>"},
      {"lo\xE2\x80\x8Bss", "lo<U+200B>ss"},  // zero-width space
      {"lo\xE2\x80\x8Dss", "lo<U+200D>ss"},
      {"a\xC2\xAD"
       "b",
       "a<U+00AD>b"},  // soft hyphen
      {"\xEF\xBB\xBFx", "<U+FEFF>x"},
      {"a\xE2\x80\xA8"
       "b",
       "a<U+2028>b"},                                             // line separator
      {"\xE3\x85\xA4", "<U+3164>"},                               // Hangul filler
      {"a\xEF\xB8\x8F", "a<U+FE0F>"},                             // a selector behind a letter
      {"\xF3\xA0\x81\x81", "<U+E0041>"},                          // a tag
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}};  // half a surrogate pair
  for (const auto& [text, shown] : k_hidden) EXPECT_EQ(sanitize(text), shown);
  const char* const k_plain[] = {
      "\xE2\x9A\xA0\xEF\xB8\x8F loss",                 // a warning sign
      "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB",  // a woman at a computer
      "\xE6\x8D\x9F\xE5\xA4\xB1",
      "\xD0\x9F\xD0\xBE\xD1\x82\xD0\xB5\xD1\x80\xD1\x8F",
      "47%|\xE2\x96\x88\xE2\x96\x88\xE2\x96\x8C  |",
      "na\xC3\xAFve \xE2\x80\xA6 \xC2\xA0|"};
  for (const char* text : k_plain) EXPECT_EQ(sanitize(text), text);
}

TEST(Text, SanitizeKeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(sanitize("caf\xC3\xA9\x1b[1m\xFF"), "caf\xC3\xA9 [1m\xEF\xBF\xBD");
}

TEST(Text, ShortenCountsCharactersAndKeepsThemWhole) {
  EXPECT_EQ(shorten("caf\xC3\xA9 au lait", 7), "caf\xC3\xA9...");
  EXPECT_EQ(shorten("short", 5), "short");
}

}  // namespace
}  // namespace aplomb::core
