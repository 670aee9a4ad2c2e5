#include "record/score_course.h"

#include <gtest/gtest.h>

#include <string>

namespace aplomb::record {
namespace {

std::string judged(bool more_is_better, std::initializer_list<double> values, bool ends = false) {
  ScoreCourse course{more_is_better, more_is_better, ends};
  for (const double value : values) course.add(value);
  const char* kind = course.judged();
  return kind == nullptr ? "" : kind;
}

TEST(ScoreCourse, NamesAreWordsOfTheirOwnTheFirstAndLongest) {
  EXPECT_EQ(first_score_name("exact match").name->word, "exact match");
  EXPECT_EQ(first_score_name("macro f1 of dev").name->word, "macro f1");
  EXPECT_EQ(first_score_name("f1score").name, nullptr);
  EXPECT_EQ(first_score_name("recall 0.3, precision 0.4").at, 0U);
  EXPECT_FALSE(first_score_name("wer").name->more_is_better);
}

TEST(ScoreCourse, NothingRightIsToldOfTwoValuesOrOfTheLast) {
  EXPECT_EQ(judged(true, {0, 0}), "score-none");
  EXPECT_EQ(judged(true, {0}), "");
  EXPECT_EQ(judged(true, {0}, true), "score-none");
  EXPECT_EQ(judged(true, {0, 0.3}), "");
}

TEST(ScoreCourse, WorseIsATenthOfAShareOrOfAnErrorMoreThanASeventh) {
  EXPECT_EQ(judged(true, {0.6, 0.7, 0.45}), "score-worse");
  EXPECT_EQ(judged(true, {0.6, 0.7, 0.55}), "");
  EXPECT_EQ(judged(false, {10, 8, 12}), "score-worse");
  EXPECT_EQ(judged(false, {10, 8, 11}), "");
}

TEST(ScoreCourse, UnmovedIsToldAtTheEndOfWhatIsNotNearlyAllRight) {
  EXPECT_EQ(judged(true, {0.5, 0.5}, true), "score-unmoved");
  EXPECT_EQ(judged(true, {0.5, 0.5}), "");
  EXPECT_EQ(judged(true, {0.9, 0.9}, true), "");
}

}  // namespace
}  // namespace aplomb::record
