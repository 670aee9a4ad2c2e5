#include "preflight/data_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aplomb::preflight {
namespace {

using ::testing::ElementsAre;

TEST(DataSets, ShardsAreOneSetAndWhatTrainsComesFirst) {
  const auto sets = data_sets({"d/test-00000-of-00001.parquet", "d/train-00001-of-00002.parquet",
                               "d/train-00000-of-00002.parquet", "other.jsonl"});
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(sets[0].path, "d/train-*-of-00002.parquet");
  EXPECT_EQ(sets[0].files.size(), 2U);
  EXPECT_EQ(sets[1].path, "other.jsonl");
  EXPECT_TRUE(sets[2].held_out);
}

TEST(DataSets, TellsWhatIsHeldOutByAWordOfItsName) {
  const auto held_out = [](const char* path) { return data_sets({path}).at(0).held_out; };
  for (const char* path : {"eval.jsonl", "my_valid.jsonl", "val.bin", "data-test.csv",
                           "validation-00000-of-00001.parquet", "x/test/0000.parquet", "dev.tsv"})
    EXPECT_TRUE(held_out(path)) << path;
  for (const char* path : {"train.jsonl", "latest.jsonl", "contest.csv", "valuable.jsonl",
                           "test/train.jsonl", "x/train/0000.parquet", "developers.jsonl"})
    EXPECT_FALSE(held_out(path)) << path;
}

TEST(DataSets, KnowsFormatsByTheirEndings) {
  EXPECT_EQ(data_syntax("a.jsonl.gz"), DataSyntax::json_lines);
  EXPECT_EQ(data_syntax("a.parquet"), DataSyntax::columns);
  EXPECT_EQ(data_syntax("a.arrow"), DataSyntax::columns);
  EXPECT_EQ(data_syntax("a.bin"), DataSyntax::tokens);
  EXPECT_EQ(data_syntax("a.yaml"), std::nullopt);
}

}  // namespace
}  // namespace aplomb::preflight
