#include "train/loop/diagnostic_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "toy.h"

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

/// Two rows of letters in which each is followed by the next.
text::TokenBatch letters() {
  text::TokenBatch batch;
  batch.rows = 2;
  batch.columns = 12;
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t column = 0; column < 12; ++column) {
      batch.ids.push_back('a' + 12 * row + column);
      batch.labels.push_back(column == 0 ? text::k_ignored : batch.ids.back());
      batch.positions.push_back(column);
      batch.segments.push_back(0);
    }
    batch.samples.push_back(static_cast<std::uint64_t>(row));
  }
  return batch;
}

TEST(OverfitOneBatch, IsGoodWhereTheModelCanLearn) {
  seed_all(1);
  ToyTrainee trainee(0);
  const Answer answer = overfit_one_batch(trainee, letters(), 0.1);
  EXPECT_TRUE(answer.good) << answer.verdict;
  EXPECT_THAT(answer.verdict, HasSubstr("it can learn"));
}

TEST(OverfitOneBatch, NamesWhatKeepsItFromLearning) {
  seed_all(1);
  text::TokenBatch masked = letters();
  std::fill(masked.labels.begin(), masked.labels.end(), text::k_ignored);
  ToyTrainee trainee(0);
  EXPECT_THAT(overfit_one_batch(trainee, masked, 0.1).verdict, HasSubstr("all masked"));

  ToyTrainee slow(0);
  const Answer tiny = overfit_one_batch(slow, letters(), 1e-6);
  EXPECT_FALSE(tiny.good);
  EXPECT_THAT(tiny.verdict, HasSubstr("cannot learn even one batch"));

  ToyTrainee broken(0);
  broken.fault = [](std::int64_t pass, const at::Tensor& loss) {
    return pass == 5 ? loss * NAN : loss;
  };
  const Answer nan = overfit_one_batch(broken, letters(), 0.1);
  EXPECT_FALSE(nan.good);
  EXPECT_THAT(nan.verdict, HasSubstr("not finite at step 6"));

  ToyTrainee cut(0);
  cut.fault = [](std::int64_t, const at::Tensor& loss) { return loss * 0 + 3.0 * 22; };
  EXPECT_THAT(overfit_one_batch(cut, letters(), 0.1).verdict, HasSubstr("exactly 0"));
}

TEST(LrRangeTest, FindsARateThatLearnsAndSaysWhereItBreaks) {
  seed_all(1);
  ToyTrainee trainee(0);
  const RangeTest test = lr_range_test(trainee, [](std::int64_t) { return letters(); });
  EXPECT_TRUE(test.answer.good) << test.answer.verdict;
  EXPECT_GT(test.best_lr, 1e-3);
  EXPECT_DOUBLE_EQ(test.suggested, test.best_lr / 10);
  // What it suggests does learn.
  ToyTrainee again(0);
  EXPECT_TRUE(overfit_one_batch(again, letters(), test.suggested).good) << test.answer.verdict;
}

TEST(LrRangeTest, SaysSoWhereNoRateHelps) {
  ToyTrainee trainee(0);
  trainee.fault = [](std::int64_t, const at::Tensor& loss) { return loss * 0 + 3.0 * 22; };
  const RangeTest test = lr_range_test(trainee, [](std::int64_t) { return letters(); });
  EXPECT_FALSE(test.answer.good);
  EXPECT_THAT(test.answer.verdict, HasSubstr("no learning rate"));
}

std::vector<ProbeStep> curve(double end, std::size_t nan_at = 1000) {
  std::vector<ProbeStep> steps;
  for (std::size_t i = 0; i < 20 && i <= nan_at; ++i) {
    const double way = static_cast<double>(i) / 19;
    steps.push_back({1e-4, i == nan_at ? NAN : 3 + (end - 3) * way, i == nan_at ? NAN : 0.5});
  }
  return steps;
}

TEST(ComparePrecisions, TellsRoundingFromHarm) {
  EXPECT_TRUE(compare_precisions({{"fp32", curve(2)}, {"bf16", curve(2.004)}}).good);
  const Answer apart = compare_precisions({{"fp32", curve(2)}, {"bf16", curve(2.3)}});
  EXPECT_FALSE(apart.good);
  EXPECT_THAT(apart.verdict, HasSubstr("apart by more"));
  const Answer overflow =
      compare_precisions({{"fp32", curve(2)}, {"bf16", curve(2)}, {"fp16", curve(2, 7)}});
  EXPECT_FALSE(overflow.good);
  EXPECT_THAT(overflow.verdict, HasSubstr("fp16 is not finite at step 8"));
  EXPECT_THAT(compare_precisions({{"fp32", curve(2, 3)}, {"bf16", curve(2)}}).verdict,
              HasSubstr("it is not the precision"));
}

TEST(JudgeMinimal, IsTheGateOfTheFirstSteps) {
  EXPECT_TRUE(judge_minimal(curve(2.5)).good) << judge_minimal(curve(2.5)).verdict;
  const Answer bad = judge_minimal(curve(2.5, 4));
  EXPECT_FALSE(bad.good);
  EXPECT_THAT(bad.verdict, HasSubstr("the fault is in model"));
}

}  // namespace
}  // namespace aplomb::train::loop
