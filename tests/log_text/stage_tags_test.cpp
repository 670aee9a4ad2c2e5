#include "log_text/stage_tags.h"

#include <gtest/gtest.h>

#include "log_text/line_feed.h"

namespace aplomb::log_text {
namespace {

std::vector<record::Event> events_of(const std::vector<std::string>& lines) {
  return test::events_of_lines<StageTags>(lines);
}

TEST(StageTags, ATagThatTakesAnothersPlaceForGood) {
  const auto events = events_of({"[base] epoch 0 loss 0.047", "[base] epoch 1 loss 0.011",
                                 "trainable params: 13,312", "[lora] epoch 0 loss 6.8297",
                                 "[lora] epoch 1 loss 6.8237"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "stage-begins");
  EXPECT_EQ(events[0].origin.line, 4U);
}

TEST(StageTags, ATagBeforeABar) {
  EXPECT_EQ(events_of({"base  | epoch  0 | loss 1.06", "base  | epoch  1 | loss 0.09",
                       "adapt | epoch  0 | loss 2.30", "adapt | epoch  1 | loss 2.30"})
                .size(),
            1U);
}

TEST(StageTags, ATrainerOfPreferencesBehindASupervisedOne) {
  const std::string supervised = "{'loss': '0.3251', 'learning_rate': '0.0006', 'epoch': '0.8'}";
  const std::string preferences =
      "{'loss': '0.0646', 'rewards/chosen': '7.6', 'rewards/rejected': '0.2', 'epoch': '0.1'}";
  const auto events = events_of({supervised, supervised, preferences, preferences});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].origin.line, 3U);
  EXPECT_TRUE(events_of({supervised, supervised, supervised}).empty());
}

TEST(StageTags, TagsThatComeBackAndLevelsAreNone) {
  EXPECT_TRUE(events_of({"[gen] loss 1.2", "[disc] loss 0.7", "[gen] loss 1.1", "[disc] loss 0.6"})
                  .empty());
  EXPECT_TRUE(events_of({"[INFO] step 1", "[INFO] step 2", "[WARNING] step 3", "[WARNING] step 4"})
                  .empty());
  EXPECT_TRUE(events_of({"[23:39:28] step=50", "[23:39:29] step=60"}).empty());
  EXPECT_TRUE(events_of({"[a] 1", "[a] 2", "[b] 3"}).empty());
}

TEST(StageTags, AWordBeforeTheStepAndAPhaseOfARecord) {
  EXPECT_EQ(events_of({"pretrain it=0 loss=3.9", "pretrain it=30 loss=2.3", "adapt it=0 loss=2.2",
                       "adapt it=30 loss=2.2"})
                .size(),
            1U);
  EXPECT_EQ(events_of({R"({"phase": "base", "it": 1})", R"({"phase": "base", "it": 2})",
                       R"({"phase": "lora", "it": 1})", R"({"phase": "lora", "it": 2})"})
                .size(),
            1U);
  EXPECT_TRUE(events_of({"train step 1 loss 2", "train step 2 loss 2", "eval step 2 loss 3",
                         "eval step 4 loss 3"})
                  .empty());
}

TEST(StageTags, AWordBeforeTheBareStepBehindALevel) {
  EXPECT_EQ(events_of({"[INFO] sft   60  loss 1.00", "[INFO] sft  120  loss 0.15",
                       "[INFO] dpo   20  loss 0.69", "[INFO] dpo   40  loss 0.69"})
                .size(),
            1U);
  EXPECT_TRUE(
      events_of({"epoch 1  loss 1.0", "epoch 2  loss 0.9", "best 2  loss 0.9", "best 3  loss 0.8"})
          .empty());
}

}  // namespace
}  // namespace aplomb::log_text
