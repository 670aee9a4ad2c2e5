#include "prose/claim_topics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace aplomb::prose {
namespace {

std::vector<std::string> topics_of(const std::string& text) {
  return Topics::instance().of(tokenize(text, 400));
}

bool speaks_of(const std::string& text, const std::string& topic) {
  const std::vector<std::string> topics = topics_of(text);
  return std::find(topics.begin(), topics.end(), topic) != topics.end();
}

TEST(ClaimTopics, TheKnowledgeHasNoMistakes) {
  for (const std::string& mistake : Topics::instance().mistakes()) ADD_FAILURE() << mistake;
  EXPECT_GT(Topics::instance().ids().size(), 40U);
}

TEST(ClaimTopics, GroupsAreMetInAnyOrderOfOneSentence) {
  for (const char* text : {"Slices of the same patients are in training and test.",
                           "The test set overlaps with what the model was trained on.",
                           "We found duplicates of training rows in the validation split."})
    EXPECT_TRUE(speaks_of(text, "split_leak")) << text;
  EXPECT_FALSE(speaks_of("The patients are old. The test takes an hour.", "split_leak"))
      << "nothing of one group";
  EXPECT_FALSE(speaks_of("There are duplicates in my notes. The test loss is 0.3.", "split_leak"))
      << "groups in two sentences";
}

TEST(ClaimTopics, AWordOfNoneSilencesTheTopic) {
  EXPECT_FALSE(speaks_of("Compute and communication overlap in the test.", "split_leak"));
}

TEST(ClaimTopics, OrderedGroupsKeepTheirOrder) {
  EXPECT_TRUE(
      speaks_of("The validation loss is lower than the training loss.", "held_out_loss_below"));
  EXPECT_FALSE(
      speaks_of("The training loss is lower than the validation loss.", "held_out_loss_below"));
}

TEST(ClaimTopics, QuestionsWhetherAllIsWell) {
  for (const char* text : {"Is this loss curve general?", "Should I be worried about it?",
                           "Are these values ok?", "Can I ignore this warning?", "Is it a bug?"})
    EXPECT_TRUE(speaks_of(text, "asks_whether_right")) << text;
  for (const char* text : {"This is normal.", "How can I fix this problem?",
                           "Why is the loss so wrong?", "What is the right learning rate?"})
    EXPECT_FALSE(speaks_of(text, "asks_whether_right")) << text;
}

TEST(ClaimTopics, WhatComesBackWithAResume) {
  EXPECT_TRUE(speaks_of("Resuming between epochs reproduces the losses.", "epoch_border_fine"));
  EXPECT_FALSE(
      speaks_of("The losses agree. Resuming between epochs crashed.", "epoch_border_fine"));
  EXPECT_TRUE(
      speaks_of("After a restart the loss is higher, with Adam in particular.", "adaptive_only"));
  EXPECT_FALSE(speaks_of("After a restart Adam is used.", "adaptive_only"));
}

TEST(ClaimTopics, WhereMemoryAndLengthDecide) {
  EXPECT_TRUE(speaks_of("It runs out of memory exactly where sample images are saved.",
                        "oom_where_sampled"));
  EXPECT_FALSE(speaks_of("It runs out of memory at once.", "oom_where_sampled"));
  EXPECT_TRUE(speaks_of("With shorter prompts the loss is finite.", "shorter_works"));
  EXPECT_FALSE(speaks_of("With a shorter warmup the data looks fine.", "shorter_works"));
}

TEST(ClaimTopics, AStartThatTakesItsTime) {
  EXPECT_TRUE(speaks_of("It takes 300 batches until the loss moves.", "late_start"));
  EXPECT_FALSE(speaks_of("The loss moves from the first batch.", "late_start"));
}

TEST(ClaimTopics, LengthsThatFallAndRiseAgain) {
  EXPECT_TRUE(speaks_of("Completions get shorter in the first 50 steps and then grow again.",
                        "length_dips"));
  EXPECT_FALSE(speaks_of("Completions get shorter with each step.", "length_dips"));
  EXPECT_FALSE(speaks_of("Completions grow longer with each step.", "length_dips"));
}

TEST(ClaimTopics, WhatIsHeldOutFaresBetterInAnyWording) {
  EXPECT_TRUE(
      speaks_of("The box loss in training is more than in validation.", "training_loss_above"));
  EXPECT_TRUE(speaks_of("The loss on validation is lower than the one in training.",
                        "held_out_loss_below"));
  EXPECT_FALSE(
      speaks_of("The loss in training is lower than in validation.", "training_loss_above"));
}

TEST(ClaimTopics, AgentsAndTheirSpaces) {
  EXPECT_TRUE(speaks_of("My DQN has no target network.", "no_target_network"));
  EXPECT_FALSE(speaks_of("The target network is renewed every 500 updates.", "no_target_network"));
  EXPECT_TRUE(speaks_of("Some observations are in meters and orders of magnitude larger.",
                        "observations_unscaled"));
  EXPECT_TRUE(speaks_of("With denormals flushed the step is fast again.", "denormals"));
  EXPECT_TRUE(
      speaks_of("The test generator has its class indices in another order than the one "
                "of training.",
                "splits_numbered_apart"));
}

TEST(ClaimTopics, ContractedNegationsAreNegations) {
  EXPECT_TRUE(speaks_of("The pattern doesn't match the completion.", "reward_never_matches"));
  EXPECT_TRUE(speaks_of("The pattern does not match the completion.", "reward_never_matches"));
}

TEST(ClaimTopics, ATopicIsGivenOnce) {
  const std::string text =
      "All samples are padded to 2048, most of it is wasted. "
      "All are padded to the longest.";
  const std::vector<std::string> topics = topics_of(text);
  EXPECT_EQ(std::count(topics.begin(), topics.end(), "mostly_padding"), 1);
}

TEST(ClaimTopics, NothingIsHeardInNothing) {
  EXPECT_TRUE(topics_of("").empty());
  EXPECT_TRUE(topics_of("The quick brown fox jumps over the lazy dog.").empty());
}

}  // namespace
}  // namespace aplomb::prose
