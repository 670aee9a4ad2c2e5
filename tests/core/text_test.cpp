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

TEST(Text, SanitizeKeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(sanitize("caf\xC3\xA9\x1b[1m\xFF"), "caf\xC3\xA9 [1m\xEF\xBF\xBD");
}

TEST(Text, ShortenCountsCharactersAndKeepsThemWhole) {
  EXPECT_EQ(shorten("caf\xC3\xA9 au lait", 7), "caf\xC3\xA9...");
  EXPECT_EQ(shorten("short", 5), "short");
}

}  // namespace
}  // namespace aplomb::core
