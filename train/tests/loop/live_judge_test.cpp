#include "train/loop/live_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

Record record_at(std::int64_t step, double loss, double norm) {
  Record record;
  record.step = step;
  record.loss = loss;
  record.grad_norm = norm;
  record.lr = 1e-4;
  return record;
}

std::string all_of(const std::vector<Said>& said) {
  std::string text;
  for (const Said& each : said) text += each.text + "\n";
  return text;
}

TEST(LiveJudge, TellsTheGateAtTheTenthRecordAndTheCriteriaAtTheEnd) {
  LiveJudge judge({150, 1, 1.0, 448});
  std::string early;
  for (std::int64_t step = 1; step <= 150; ++step) {
    const std::string said = all_of(
        judge.observe(record_at(step, 2.4 * std::exp(-0.005 * static_cast<double>(step)), 0.8)));
    if (step < 10) {
      EXPECT_EQ(said, "") << step;
    }
    if (step == 10) {
      EXPECT_THAT(said, HasSubstr("the first 10 records pass"));
    }
    early += said;
  }
  const std::string last = all_of(judge.finish());
  EXPECT_THAT(last, HasSubstr("success criteria: every success criterion"));
  EXPECT_THAT(last, ::testing::Not(HasSubstr("first steps")));  // was told
  EXPECT_TRUE(judge.healthy()) << early << last;
}

TEST(LiveJudge, TellsANanWhenItIsThere) {
  LiveJudge judge({100, 1, 1.0, 0});
  std::string said;
  for (std::int64_t step = 1; step <= 40; ++step)
    said += all_of(judge.observe(record_at(step, step < 30 ? 2.0 : NAN, step < 30 ? 0.5 : NAN)));
  EXPECT_THAT(said, HasSubstr("loss.nonfinite"));
  judge.finish();
  EXPECT_FALSE(judge.healthy());
}

TEST(LiveJudge, TellsASlowMachineAndCallsTheRunHealthy) {
  LiveJudge judge({150, 1, 1.0, 448});
  std::string said;
  for (std::int64_t step = 1; step <= 150; ++step) {
    Record record = record_at(step, 2.4 * std::exp(-0.005 * static_cast<double>(step)), 0.8);
    record.tokens_per_s = step < 60 ? 9000 : 2000;
    said += all_of(judge.observe(record));
  }
  said += all_of(judge.finish());
  EXPECT_THAT(said, HasSubstr("throughput.drop"));
  EXPECT_TRUE(judge.healthy()) << said;
}

TEST(LiveJudge, FailsTheGateOfALossThatIsZero) {
  LiveJudge judge({100, 1, 1.0, 0});
  std::string said;
  for (std::int64_t step = 1; step <= 10; ++step)
    said += all_of(judge.observe(record_at(step, step == 1 ? 2.5 : 0.0, step == 1 ? 0.8 : 0.0)));
  EXPECT_THAT(said, HasSubstr("the first 10 records do not pass"));
}

}  // namespace
}  // namespace aplomb::train::loop
