#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossNegative, ACrossEntropyThatFallsBelowZeroIsUnstable) {
  const auto symptoms =
      RunOf().set("model.vocab_size", 32000.0).loss({2.4, 1.1, 0.2, -0.4, -1.3, -2.9}).detect();
  const detectors::Symptom* found = find(symptoms, "loss.negative");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_EQ(number(found, "step"), found->first_step);
}

TEST(LossNegative, IsSilentAboutRoundingAndSingleRecords) {
  EXPECT_FALSE(has(RunOf()
                       .set("model.vocab_size", 32000.0)
                       .loss({0.3, 0.1, -0.01, -0.004, -0.01, -0.002})
                       .detect(),
                   "loss.negative"));
  EXPECT_FALSE(
      has(RunOf().set("model.vocab_size", 32000.0).loss({2.4, 1.1, -3, 0.9, 0.8, -2, 0.7}).detect(),
          "loss.negative"));
}

TEST(LossNegative, IsSilentWhereTheLossIsOfAnotherKind) {
  // Never above 0, no vocabulary, a policy.
  EXPECT_FALSE(has(RunOf().set("model.vocab_size", 32000.0).loss({-1, -2, -3, -4, -5}).detect(),
                   "loss.negative"));
  EXPECT_FALSE(has(RunOf().loss({2, 1, -1, -2, -3, -4}).detect(), "loss.negative"));
  EXPECT_FALSE(has(RunOf()
                       .set("model.vocab_size", 32000.0)
                       .loss({0.2, 0.1, -0.1, -0.2, -0.3, -0.1})
                       .with("reward", record::Role::reward, {0.1, 0.2, 0.3, 0.3, 0.4, 0.5})
                       .detect(),
                   "loss.negative"));
}

}  // namespace
}  // namespace aplomb::testing
