#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(PredictionMean, AnExplainedVarianceThatStaysAtNothing) {
  Draw draw(26);
  const auto symptoms =
      RunOf()
          .loss(std::vector<double>(40, 0.4))
          .with("val_r2", record::Role::eval_metric,
                curve(
                    40, [](double) { return 0.02; }, [&] { return 0.006 * draw.normal(); }))
          .detect();
  EXPECT_TRUE(has(symptoms, "prediction.mean")) << told(symptoms);
}

TEST(PredictionMean, PredictionsWithoutASpread) {
  EXPECT_TRUE(has(RunOf()
                      .with("pred_std", record::Role::other, std::vector<double>(10, 1.2))
                      .with("target_std", record::Role::other, std::vector<double>(10, 123.0))
                      .detect(),
                  "prediction.mean"));
}

TEST(PredictionMean, IsSilentWhereSomethingIsExplained) {
  EXPECT_FALSE(
      has(RunOf()
              .with("r2", record::Role::other,
                    curve(
                        20, [](double i) { return std::min(0.8, 0.05 * i); }, [] { return 0.0; }))
              .detect(),
          "prediction.mean"));
  EXPECT_FALSE(
      has(RunOf().with("r2", record::Role::other, {0.0, 0.02}).detect(), "prediction.mean"));
}

TEST(PredictionMean, ACriticMayKnowNothingYet) {
  EXPECT_FALSE(
      has(RunOf()
              .with("explained_variance", record::Role::other, std::vector<double>(20, 0.01))
              .with("reward", record::Role::reward, std::vector<double>(20, 1.0))
              .detect(),
          "prediction.mean"));
}

}  // namespace
}  // namespace aplomb::testing
