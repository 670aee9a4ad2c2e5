#include "log_text/split_scores.h"

#include <gtest/gtest.h>

#include "log_text/line_feed.h"

namespace aplomb::log_text {
namespace {

/// Six records of training with the held-out score as `held_out` prints it, then the lines behind them.
std::vector<record::Event> events_of(const std::string& held_out,
                                     const std::vector<std::string>& behind) {
  std::vector<std::string> lines;
  for (int epoch = 1; epoch <= 6; ++epoch)
    lines.push_back("epoch " + std::to_string(epoch) + " train loss 0.30 " + held_out);
  lines.insert(lines.end(), behind.begin(), behind.end());
  return test::events_of_lines<SplitScores>(lines);
}

double caught(const record::Event& event, const char* name) {
  const double* number = core::as_number(event.caught.at(name));
  return number == nullptr ? -1 : *number;
}

TEST(SplitScores, AnErrorThatIsFarHigherOnTheTestData) {
  const auto events = events_of("val rmse 0.2771", {"TEST rmse 0.4669   persistence 0.6232"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "score-elsewhere");
  EXPECT_EQ(*core::as_text(events[0].caught.at("name_text")), "rmse");
  EXPECT_EQ(caught(events[0], "held_out"), 0.2771);
  EXPECT_EQ(caught(events[0], "elsewhere"), 0.4669);
  EXPECT_EQ(events[0].origin.line, 7U);
}

TEST(SplitScores, AScoreOnDataOfAnyNameBehindTheTraining) {
  const auto events =
      events_of("valid_auc=0.9985", {"INFO:churn:scoring next quarter: 3200 rows, auc=0.6419"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(caught(events[0], "elsewhere"), 0.6419);
}

TEST(SplitScores, ADrawnTableAndABareWordForTheHeldOutLoss) {
  const auto events =
      events_of("val 0.1667", {"\u2502 mse/holdout \u2502 0.3400302827358246 \u2502"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(caught(events[0], "held_out"), 0.1667);
}

TEST(SplitScores, NearlyAsGoodIsNoEvent) {
  EXPECT_TRUE(events_of("val rmse 0.2771", {"test rmse 0.3105"}).empty());
  EXPECT_TRUE(events_of("val acc 0.91", {"test acc 0.84"}).empty());
  EXPECT_TRUE(events_of("val acc 0.91", {"test acc 91.2%"}).empty());
}

TEST(SplitScores, BaselinesAndHarderDataAreNotCompared) {
  EXPECT_TRUE(events_of("val acc 0.91", {"majority baseline: accuracy 0.34"}).empty());
  EXPECT_TRUE(events_of("val acc 0.91", {"under attack: accuracy 0.12"}).empty());
  EXPECT_TRUE(events_of("val mse 0.10", {"naive forecast mse 0.45"}).empty());
}

TEST(SplitScores, ATableOfGroupsIsNoOtherSet) {
  EXPECT_TRUE(
      events_of("val f1 0.91", {"cat   f1 0.99", "dog   f1 0.97", "lynx  f1 0.41"}).empty());
}

TEST(SplitScores, WhatWasPrintedBeforeOrWithoutACourseSaysNothing) {
  EXPECT_TRUE(test::events_of_lines<SplitScores>({"val acc 0.95", "test acc 0.40"}).empty());
  EXPECT_TRUE(events_of("val acc 0.95", {"epoch 7 train loss 0.1 acc_train 0.2"}).empty());
}

}  // namespace
}  // namespace aplomb::log_text
