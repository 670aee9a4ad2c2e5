#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "compare/made_run.h"
#include "report/compare_view.h"

namespace aplomb::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// B is lost from step 61 on; they differ in two settings.
compare::Comparison lost_b() {
  record::Run a = test::run_with_loss("a", test::falling_loss(1, 100));
  std::vector<double> lost = test::falling_loss(1, 100);
  std::fill(lost.begin() + 60, lost.end(), std::nan(""));
  record::Run b = test::run_with_loss("b", lost);
  for (record::Run* each : {&a, &b}) {
    test::add_setting(*each, "optim.lr", each == &a ? 0.001 : 0.1);
    test::add_setting(*each, "optim.weight_decay", each == &a ? 0.01 : 0.02);
  }
  return compare::compare_runs(a, b, {}, compare::Axis::step).value();
}

compare::Ailment too_high(double probability) {
  return {"diverge.lr-too-high",
          "The learning rate is too high",
          probability,
          "Lower the peak learning rate",
          {"optim.lr"}};
}

TEST(CompareAdvice, NamesWhatAilsTheWorseRunTheSettingBehindItAndTheFix) {
  compare::Comparison comparison = lost_b();
  compare::explain(comparison, std::nullopt, too_high(0.93));
  EXPECT_EQ(compare_advice(comparison),
            "B: The learning rate is too high (93 %): optim.lr (0.001 in A, 0.1 in B). Lower the "
            "peak learning rate");
}

TEST(CompareAdvice, WithoutADiagnosisTheFirstSettingIsTheSuspect) {
  EXPECT_THAT(compare_advice(lost_b()), StartsWith("look first at optim.lr"));
}

TEST(CompareAdvice, WhatBothHaveExplainsNoDifference) {
  compare::Comparison comparison = lost_b();
  compare::explain(comparison, too_high(0.6), too_high(0.93));
  EXPECT_THAT(compare_advice(comparison),
              StartsWith("both have one trouble: The learning rate is too high (60 % and 93 %)"));
}

TEST(CompareAdvice, TwoRunsThatAreTheSameAndIllAreNotToldThatNothingIsToBeDone) {
  compare::Comparison comparison =
      compare::compare_runs(test::run_with_loss("a", test::falling_loss(1, 200)),
                            test::run_with_loss("b", test::falling_loss(2, 200)), {},
                            compare::Axis::step)
          .value();
  ASSERT_EQ(comparison.verdict, compare::Judgement::same);
  EXPECT_THAT(compare_advice(comparison), StartsWith("nothing"));
  compare::explain(comparison, too_high(0.6), too_high(0.93));
  EXPECT_THAT(compare_advice(comparison), HasSubstr("does not make them sound"));
}

}  // namespace
}  // namespace aplomb::report
