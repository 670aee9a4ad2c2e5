#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

/// Ten classes: the floor is ln(e + 9) - 1 = 1.4612.
RunOf classifier(double level, double accuracy) {
  RunOf run;
  run.set("data.class_count", 10.0);
  Draw draw(5);
  run.loss(curve(
      40, [&](double i) { return level + (2.302 - level) * std::exp(-i / 5); },
      [&] { return 0.002 * draw.normal(); }));
  for (int i = 1; i <= 5; ++i) {
    run.at("eval_loss", record::Role::eval_loss, 8 * i - 1, level);
    run.at("eval_accuracy", record::Role::eval_accuracy, 8 * i - 1, accuracy);
  }
  return run;
}

TEST(SoftmaxFloor, ALossAtTheFloorOfProbabilities) {
  const auto symptoms = classifier(1.4712, 0.99).detect();
  const detectors::Symptom* floor = find(symptoms, "loss.softmax_floor");
  ASSERT_NE(floor, nullptr) << told(symptoms);
  EXPECT_NEAR(number(floor, "floor"), 1.4612, 1e-4);
}

TEST(SoftmaxFloor, EachWrongAnswerAddsOne) {
  EXPECT_TRUE(has(classifier(1.4612 + 0.25, 0.75).detect(), "loss.softmax_floor"));
}

TEST(SoftmaxFloor, OtherLossesAreOther) {
  EXPECT_FALSE(has(classifier(0.05, 0.99).detect(), "loss.softmax_floor"));
  EXPECT_FALSE(has(classifier(1.47, 0.45).detect(), "loss.softmax_floor"));
  EXPECT_FALSE(has(classifier(1.60, 0.99).detect(), "loss.softmax_floor"));
}

TEST(SoftmaxFloor, TheFirstLossSaysAmongHowManyItGuesses) {
  RunOf run;
  Draw draw(7);
  run.loss(curve(
      40, [&](double i) { return 1.754 + (2.301 - 1.754) * std::exp(-i / 5); },
      [&] { return 0.001 * draw.normal(); }));
  std::vector<double> accuracy(40, 0.706);
  run.with("accuracy", record::Role::accuracy, accuracy);
  EXPECT_TRUE(has(run.detect(), "loss.softmax_floor")) << "1.754 = ln(e + 9) - 0.706";
}

/// Four classes, whose floor is 0.7437: nearly all is right, and the loss comes down to `level`.
RunOf segmentation(double level, double accuracy) {
  RunOf run;
  run.loss(curve(
      36, [&](double i) { return level + (1.30 - level) * std::exp(-i / 8); }, [] { return 0.0; }));
  for (int i = 1; i <= 12; ++i) {
    run.at("eval_loss", record::Role::eval_loss, 3 * i - 1,
           level + (1.28 - level) * std::exp(-3 * i / 8.0));
    run.at("accuracy", record::Role::accuracy, 3 * i - 1, accuracy);
  }
  return run;
}

TEST(SoftmaxFloor, NearlyAllIsRightAndTheLossStaysAboveTheFloor) {
  const auto symptoms = segmentation(0.77, 0.997).detect();
  const detectors::Symptom* floor = find(symptoms, "loss.softmax_floor");
  ASSERT_NE(floor, nullptr) << told(symptoms);
  EXPECT_NEAR(number(floor, "floor"), 0.7437, 1e-4);
  EXPECT_FALSE(has(segmentation(0.35, 0.997).detect(), "loss.softmax_floor")) << "smoothed labels";
  EXPECT_FALSE(has(segmentation(0.77, 0.75).detect(), "loss.softmax_floor"));
}

TEST(SoftmaxFloor, NoClassesNoFloor) {
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(40, 1.4612)).detect(), "loss.softmax_floor"));
}

}  // namespace
}  // namespace aplomb::testing
