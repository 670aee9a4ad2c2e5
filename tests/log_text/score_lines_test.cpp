#include "log_text/score_lines.h"

#include <gtest/gtest.h>

#include "log_text/line_feed.h"

namespace aplomb::log_text {
namespace {

std::vector<record::Event> events_of(const std::vector<std::string>& lines) {
  return test::events_of_lines<ScoreLines>(lines);
}

double caught(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  const double* number = found == event.caught.end() ? nullptr : core::as_number(found->second);
  return number == nullptr ? -1 : *number;
}

TEST(ScoreLines, AScoreThatIsZeroWheneverItIsPrinted) {
  const auto events =
      events_of({"exact match before training: 0.000", "exact match after training: 0.000"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "score-none");
  EXPECT_EQ(caught(events[0], "count"), 2);
  EXPECT_EQ(events[0].origin.line, 2U);
}

TEST(ScoreLines, AScoreThatEndsWorseThanItBegan) {
  const auto events = events_of({"[judge] step 0 mean score 4.20/10  e.g. ['use fresh water']",
                                 "[judge] step 20 mean score 2.50/10  e.g. ['stir it slowly']",
                                 "[judge] step 40 mean score 2.20/10  e.g. ['stir it slowly']"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "score-worse");
  EXPECT_NEAR(caught(events[0], "first"), 0.42, 1e-9);
  EXPECT_NEAR(caught(events[0], "last"), 0.22, 1e-9);
}

TEST(ScoreLines, TheSameMeasureOfTwoThingsIsTwoScores) {
  const auto events = events_of({"after pretraining: ppl major 3.994  minor 8.801",
                                 "after adapting:    ppl major 4.050  minor 8.647"});
  ASSERT_EQ(events.size(), 2U) << "neither moved";
  EXPECT_EQ(events[0].kind, "score-unmoved");
  EXPECT_EQ(caught(events[1], "first"), 8.801);
}

TEST(ScoreLines, CountsOfATotal) {
  const auto events = events_of({"epoch 1: 1/200 right", "epoch 2: 0/200 right"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "score-none");
}

TEST(ScoreLines, WhatImprovesOrIsGoodIsSilent) {
  EXPECT_TRUE(events_of({"exact match before training: 0.000", "exact match after training: 0.71"})
                  .empty());
  EXPECT_TRUE(events_of({"test accuracy before: 0.97", "test accuracy after: 0.97"}).empty());
  EXPECT_TRUE(events_of({"before: ppl 8.8", "after: ppl 4.1"}).empty());
}

TEST(ScoreLines, OneEarlyZeroAndNumbersThatCountAreNoScores) {
  EXPECT_TRUE(events_of({"accuracy 0.0 at the start"}).empty());
  EXPECT_TRUE(events_of({"accuracy over 0 prompts", "accuracy over 0 prompts"}).empty());
  EXPECT_TRUE(events_of({"the right way, 0.0 and 0.0", "score [0, 0]", "score [0, 0]"}).empty());
}

}  // namespace
}  // namespace aplomb::log_text
