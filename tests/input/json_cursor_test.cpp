#include "input/json_cursor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace aplomb::input {
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

}  // namespace
}  // namespace aplomb::input
