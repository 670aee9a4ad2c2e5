#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

RunOf characters(double vocabulary, const std::vector<double>& held_out) {
  RunOf run;
  run.set("model.vocab_size", vocabulary).set("data.characters", true);
  run.with("eval_loss", record::Role::eval_loss, held_out, 40);
  return run;
}

TEST(TextEntropy, NobodyKnowsTheNextLetterThatWell) {
  EXPECT_TRUE(has(characters(96, {4.69, 3.01, 1.99, 0.51, 0.19}).detect(), "loss.below_entropy"));
  EXPECT_TRUE(has(characters(30, {3.56, 2.01, 1.02, 0.19, 0.06}).detect(), "loss.below_entropy"));
}

TEST(TextEntropy, GoodModelsMadeUpLanguagesAndTokensStayAlone) {
  EXPECT_FALSE(has(characters(96, {4.69, 2.4, 1.5, 1.1, 0.8}).detect(), "loss.below_entropy"));
  EXPECT_FALSE(has(characters(14, {2.6, 1.2, 0.4, 0.1, 0.02}).detect(), "loss.below_entropy"));
  RunOf tokens;
  tokens.set("model.vocab_size", 96.0);
  tokens.with("eval_loss", record::Role::eval_loss, {4.6, 2.0, 0.6, 0.2, 0.1}, 40);
  EXPECT_FALSE(has(tokens.detect(), "loss.below_entropy"));
}

}  // namespace
}  // namespace aplomb::testing
