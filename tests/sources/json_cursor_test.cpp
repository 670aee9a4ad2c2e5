#include "sources/json_cursor.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace aplomb {
namespace {

TEST(JsonCursor, WalksMembersAndSkipsWhatIsNotWanted) {
  JsonCursor json(
      R"( {"a": 1, "b": {"c": [1, {"d": "]}\""}], "e": null}, "f": "x\u00e9\ud83d\ude00\n", "g": true} )");
  ASSERT_TRUE(json.enter_object());
  std::string_view key;
  ASSERT_TRUE(json.next_member(key));
  EXPECT_EQ(key, "a");
  EXPECT_EQ(json.number(), 1.0);
  ASSERT_TRUE(json.next_member(key));
  EXPECT_EQ(key, "b");
  json.skip();
  ASSERT_TRUE(json.next_member(key));
  EXPECT_EQ(json.text(), "x\xc3\xa9\xf0\x9f\x98\x80\n");
  ASSERT_TRUE(json.next_member(key));
  EXPECT_EQ(json.number(), std::nullopt);
  EXPECT_EQ(json.truth(), true);
  EXPECT_FALSE(json.next_member(key));
  EXPECT_FALSE(json.bad());
}

TEST(JsonCursor, TakesTheNumbersThatPythonWrites) {
  JsonCursor json("[NaN, Infinity, -Infinity, -0.5, 1e400, 1e-400, nan, -1E+2, null]");
  json.enter_array();
  std::vector<double> got;
  while (json.next_element()) {
    if (const auto number = json.number()) {
      got.push_back(*number);
    } else {
      json.skip();
    }
  }
  ASSERT_EQ(got.size(), 8U);
  EXPECT_TRUE(std::isnan(got[0]) && std::isinf(got[1]) && got[2] < 0 && std::isinf(got[4]) &&
              std::isnan(got[6]));
  EXPECT_EQ(got[3], -0.5);
  EXPECT_EQ(got[5], 0.0);
  EXPECT_EQ(got[7], -100.0);
}

TEST(JsonCursor, StopsAtATearAndAtWhatIsNoJson) {
  for (const std::string text :
       {"{\"a\": [1, 2", "{\"a\"", "{\"a\": \"x\\", "{\"a\": tr", "[", ""}) {
    JsonCursor json(text);
    json.skip();
    EXPECT_TRUE(json.bad()) << text;
  }
  JsonCursor json("{\"a\": ;}");
  json.skip();
  EXPECT_TRUE(json.bad());
  EXPECT_FALSE(json.torn());
  EXPECT_EQ(json.at(), 6U);
}

TEST(JsonCursor, SurvivesNestsOfAnyDepth) {
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  JsonCursor walker(deep);
  walker.skip();
  EXPECT_FALSE(walker.bad());
  EXPECT_EQ(walker.at(), deep.size());
}

TEST(ReadDecimal, IsAsExactAsTheStandardLibrary) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    if (i % 2 == 0) value = std::ldexp(value, 0) > 1e300 ? 1.5 : std::fmod(value, 1000.0);
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, value);
    double back = 0;
    const std::size_t taken =
        read_decimal({text, static_cast<std::size_t>(written.ptr - text)}, back);
    ASSERT_EQ(taken, static_cast<std::size_t>(written.ptr - text))
        << std::string(text, written.ptr);
    ASSERT_EQ(std::memcmp(&back, &value, sizeof value), 0) << std::string(text, written.ptr);
  }
}

TEST(ReadDecimal, RoundsAsTheStandardLibraryWhateverTheForm) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300000; ++i) {
    // Up to 22 digits with a point anywhere and any small exponent: halfway cases among them.
    std::string text;
    const std::size_t digits = 1 + random() % 22;
    const std::size_t point = random() % 24;
    for (std::size_t k = 0; k < digits; ++k) {
      if (k == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    if (random() % 2 == 0) text += "e" + std::to_string(static_cast<int>(random() % 60) - 30);
    double mine = 0;
    const std::size_t taken = read_decimal(text, mine);
    double theirs = 0;
    const auto done = std::from_chars(text.data(), text.data() + text.size(), theirs);
    ASSERT_EQ(taken, static_cast<std::size_t>(done.ptr - text.data())) << text;
    ASSERT_EQ(mine, theirs) << text;
  }
  for (const std::string text :
       {"9007199254740993", "9007199254740992.5", "1e", "1e+", "0.1e-5x", "5e-324", "1e309"}) {
    double mine = -1;
    double theirs = -1;
    const std::size_t taken = read_decimal(text, mine);
    const auto done = std::from_chars(text.data(), text.data() + text.size(), theirs);
    EXPECT_EQ(taken, static_cast<std::size_t>(done.ptr - text.data())) << text;
    if (done.ec == std::errc()) {
      EXPECT_EQ(mine, theirs) << text;
    }
  }
}

}  // namespace
}  // namespace aplomb
