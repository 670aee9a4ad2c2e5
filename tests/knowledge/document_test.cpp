#include "knowledge/document.h"

#include <gmock/gmock.h>
#include <simdjson.h>

namespace aplomb::knowledge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeTest : public ::testing::Test {
 protected:
  Node parse(std::string_view text) {
    const simdjson::dom::element parsed = parser_.parse(text).value();
    return Node(parsed);
  }

 private:
  simdjson::dom::parser parser_;
};

TEST_F(NodeTest, GivesWhatItIsAndNothingElse) {
  const Node text = parse(R"({"word": "a", "count": 3, "share": -0.5, "on": false, "none": null})");
  EXPECT_EQ(text["word"].text(), "a");
  EXPECT_EQ(text["count"].number(), 3.0);
  EXPECT_EQ(text["share"].number(), -0.5);
  EXPECT_EQ(text["on"].truth(), false);
  EXPECT_FALSE(text["word"].number() || text["count"].text() || text["on"].number());
  EXPECT_TRUE(text["word"].is_scalar() && text["count"].is_scalar() && text["on"].is_scalar());
  EXPECT_FALSE(text.is_scalar() || text["none"].is_scalar());
}

TEST_F(NodeTest, IsNullWhereThereIsNothing) {
  const Node text = parse(R"({"none": null, "list": [1]})");
  for (const Node& each : {Node(), text["none"], text["missing"], text["missing"]["deeper"],
                           text["list"]["key"], Node()["key"]}) {
    EXPECT_TRUE(each.is_null());
    EXPECT_FALSE(each.text() || each.number() || each.truth() || each.is_list());
    EXPECT_THAT(each.items(), IsEmpty());
    EXPECT_THAT(each.members(), IsEmpty());
    EXPECT_EQ(each.json(), "null");
  }
  EXPECT_FALSE(text.is_null());
}

TEST_F(NodeTest, KeepsTheOrderOfListsAndObjects) {
  const Node text = parse(R"({"b": 1, "a": {"x": []}, "c": [2, "two", [3]]})");
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : text.members()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("b", "a", "c"));
  const std::vector<Node> items = text["c"].items();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].number(), 2.0);
  EXPECT_EQ(items[1].text(), "two");
  EXPECT_TRUE(items[2].is_list());
  EXPECT_TRUE(text["a"]["x"].is_list());
  EXPECT_FALSE(text["a"].is_list());
  EXPECT_EQ(text["c"].json(), R"([2,"two",[3]])");
}

TEST_F(NodeTest, ReadsMembersWithADefault) {
  const Node text = parse(R"({"one": "a", "several": ["a", 2, "b"], "half": 0.5, "on": true})");
  EXPECT_EQ(text_of(text, "one"), "a");
  EXPECT_EQ(text_of(text, "half", "x"), "x");
  EXPECT_EQ(number_of(text, "half"), 0.5);
  EXPECT_EQ(number_of(text, "one", 7), 7);
  EXPECT_TRUE(truth_of(text, "on"));
  EXPECT_TRUE(truth_of(text, "one", true));
  EXPECT_THAT(texts_of(text, "one"), ElementsAre("a"));
  EXPECT_THAT(texts_of(text, "several"), ElementsAre("a", "b"));
  EXPECT_EQ(list_of(text, "several").size(), 3U);
  EXPECT_THAT(list_of(text, "one"), IsEmpty());
  EXPECT_EQ(value_of(text["half"]), core::Value(0.5));
  EXPECT_EQ(value_of(text["several"]), core::Value(std::string()));
}

TEST(Document, HoldsEveryFileOfTheKnowledge) {
  EXPECT_TRUE(file("settings.yaml").is_list());
  EXPECT_TRUE(file("no-such-file.yaml").is_null());
  const std::vector<Entry> causes = folder("causes");
  EXPECT_GT(causes.size(), 3U);
  for (const Entry& each : causes) {
    EXPECT_TRUE(each.path.starts_with("causes/")) << each.path;
    EXPECT_TRUE(each.content.is_list()) << each.path;
  }
}

}  // namespace
}  // namespace aplomb::knowledge
