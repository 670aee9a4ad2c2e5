#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossStart, AStartFarAboveAGuessIsAWarning) {
  const auto symptoms =
      RunOf().set("model.vocab_size", 259.0).loss({44.5, 40, 30, 20, 12}).detect();
  const detectors::Symptom* high = find(symptoms, "loss.start_high");
  ASSERT_NE(high, nullptr);
  EXPECT_EQ(high->severity, core::Severity::warning);
  EXPECT_NEAR(number(high, "ratio"), 44.5 / 5.557, 0.01);
}

TEST(LossStart, IsSilentWhereTheModelGuessesOrKnows) {
  EXPECT_FALSE(has(RunOf().set("model.vocab_size", 259.0).loss({5.6, 5.1, 4.2, 3.3}).detect(),
                   "loss.start_high"));
  EXPECT_FALSE(has(RunOf().set("model.vocab_size", 128256.0).loss({14.0, 9, 7}).detect(),
                   "loss.start_high"));
}

TEST(LossStart, IsSilentWhereTheVocabularyIsUnknownOrAHandfulOfClasses) {
  EXPECT_FALSE(has(RunOf().loss({44.5, 40, 30}).detect(), "loss.start_high"));
  EXPECT_FALSE(
      has(RunOf().set("model.vocab_size", 10.0).loss({44.5, 40, 30}).detect(), "loss.start_high"));
}

TEST(LossStart, AClassifierStartsAtTheLogarithmOfItsClassesToo) {
  const auto classifier = [](double first) {
    return RunOf()
        .set("data.class_count", 10.0)
        .with("val_acc", record::Role::eval_accuracy, {0.1, 0.12, 0.15})
        .loss({first, 9, 5, 3})
        .detect();
  };
  EXPECT_TRUE(has(classifier(22.5), "loss.start_high"));
  EXPECT_FALSE(has(classifier(2.9), "loss.start_high"));
}

TEST(LossStart, ALaterLossIsNoStart) {
  EXPECT_FALSE(has(RunOf().set("model.vocab_size", 259.0).loss({5.6, 44.5, 30}).detect(),
                   "loss.start_high"));
  EXPECT_FALSE(has(RunOf().set("model.vocab_size", 259.0).loss({k_nan, 5.6, 44.5}).detect(),
                   "loss.start_high"));
}

TEST(LossStart, APolicyLossHasNoSuchLevel) {
  const auto symptoms = RunOf()
                            .set("model.vocab_size", 259.0)
                            .loss({44.5, 40, 30})
                            .with("reward", record::Role::reward, {0.1, 0.2, 0.3})
                            .detect();
  EXPECT_FALSE(has(symptoms, "loss.start_high"));
}

}  // namespace
}  // namespace aplomb::testing
