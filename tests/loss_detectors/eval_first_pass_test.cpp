#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

using record::Role;

/// One line a pass, passes from 1 on.
RunOf passes(const std::vector<double>& train, const std::vector<double>& eval, Role train_role,
             Role eval_role) {
  RunOf run;
  const bool loss = train_role == Role::loss;
  run.with(loss ? "loss" : "accuracy", train_role, train, 1, 1, record::StepKind::epoch);
  run.with(loss ? "eval_loss" : "eval_accuracy", eval_role, eval, 1, 1, record::StepKind::epoch);
  return run;
}

TEST(FirstPass, AnAccuracyThatIsFarBehindBeforeAnythingWasSeenTwice) {
  const auto symptoms =
      passes({0.743, 0.923, 0.971, 0.989, 0.995}, {0.433, 0.463, 0.483, 0.487, 0.473},
             Role::accuracy, Role::eval_accuracy)
          .detect();
  EXPECT_TRUE(has(symptoms, "eval.worse_in_first_pass")) << told(symptoms);
}

TEST(FirstPass, ALossThatIsFarAboveFromTheFirstPassOn) {
  EXPECT_TRUE(has(passes({0.525, 0.02, 0.01, 0.01, 0.004}, {1.38, 1.41, 1.6, 1.35, 1.21},
                         Role::loss, Role::eval_loss)
                      .detect(),
                  "eval.worse_in_first_pass"));
}

TEST(FirstPass, OverfittingBeginsLater) {
  EXPECT_FALSE(
      has(passes({2.1, 1.4, 0.8, 0.4, 0.1}, {2.0, 1.9, 2.2, 2.6, 3.1}, Role::loss, Role::eval_loss)
              .detect(),
          "eval.worse_in_first_pass"));
}

TEST(FirstPass, StatisticsThatAreNotSettledInTheFirstPassComeRightLater) {
  EXPECT_FALSE(has(passes({0.70, 0.85, 0.91, 0.94}, {0.30, 0.84, 0.90, 0.92}, Role::accuracy,
                          Role::eval_accuracy)
                       .detect(),
                   "eval.worse_in_first_pass"));
}

TEST(FirstPass, RoundsThatNobodyCallsPasses) {
  RunOf run;
  run.with("accuracy", Role::accuracy, {85.5, 99.9, 99.9, 100}, 47, 47);
  run.with("eval_accuracy", Role::eval_accuracy, {46.2, 47.6, 43.4, 49.6}, 47, 47);
  EXPECT_TRUE(has(run.detect(), "eval.worse_in_first_pass"));
  RunOf late;  // what is learnt by heart in the first record says nothing
  late.with("accuracy", Role::accuracy, {0.99, 0.99, 1, 1}, 47, 47);
  late.with("eval_accuracy", Role::eval_accuracy, {0.6, 0.6, 0.61, 0.6}, 47, 47);
  EXPECT_FALSE(has(late.detect(), "eval.worse_in_first_pass"));
}

TEST(FirstPass, ALogThatBeginsLaterSaysNothing) {
  RunOf run;
  run.with("loss", Role::loss, {0.1, 0.09, 0.08, 0.07}, 1, 20, record::StepKind::epoch);
  run.with("eval_loss", Role::eval_loss, {0.9, 0.9, 1.0, 1.0}, 1, 20, record::StepKind::epoch);
  EXPECT_FALSE(has(run.detect(), "eval.worse_in_first_pass"));
}

}  // namespace
}  // namespace aplomb::testing
