#include "core/json_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace aplomb::core {
namespace {

TEST(JsonText, WhatIsWrittenIsReadBack) {
  const nlohmann::ordered_json value = {{"z", 1}, {"a", {1.5, nullptr, "é"}}};
  EXPECT_EQ(json_text(value), R"({"z":1,"a":[1.5,null,"é"]})");
  EXPECT_EQ(ordered_json_from(json_text(value)), value);
  std::istringstream stream(json_text(value, 2));
  EXPECT_EQ(ordered_json_from(stream), value);
}

TEST(JsonText, KeysAreSortedWhereTheValueSortsThem) {
  EXPECT_EQ(json_text(json_from(R"({"z": 1, "a": 2})")), R"({"a":2,"z":1})");
}

TEST(JsonText, LevelsAreIndented) {
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonText, BytesThatAreNoUtf8AreReplacedAndDoNotThrow) {
  EXPECT_EQ(json_text(nlohmann::json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(ascii_json_text(nlohmann::ordered_json("a\xff")), "\"a\\ufffd\"");
}

TEST(JsonText, WhatIsNoJsonIsDiscarded) {
  EXPECT_TRUE(json_from("{\"a\": ").is_discarded());
  std::istringstream nothing;
  EXPECT_TRUE(json_from(nothing).is_discarded());
}

}  // namespace
}  // namespace aplomb::core
