#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossRelapse, AJumpThatHealsOverSeveralRecords) {
  const auto symptoms = RunOf()
                            .loss({2.6, 1.99, 1.52, 1.27, 1.195, 1.157, 1.136, 1.109, 1.098, 1.084,
                                   1.079, 1.768, 1.291, 1.121, 1.093, 1.068, 1.056, 1.05})
                            .detect();
  EXPECT_TRUE(has(symptoms, "loss.relapse")) << told(symptoms);
}

TEST(LossRelapse, OneBadBatchAWarmRestartAndNoiseAreNone) {
  EXPECT_FALSE(
      has(RunOf().loss({2, 1.5, 1.3, 1.2, 1.15, 1.12, 1.1, 2.4, 1.09, 1.08, 1.07}).detect(),
          "loss.relapse"));
  EXPECT_FALSE(
      has(RunOf().loss({2, 1.5, 1.3, 1.2, 1.15, 1.12, 1.1, 1.21, 1.18, 1.14, 1.11, 1.08}).detect(),
          "loss.relapse"));
  EXPECT_FALSE(
      has(RunOf().loss({2, 1.2, 1.6, 1.1, 1.5, 1.2, 1.0, 1.7, 1.5, 1.2, 1.0, 1.4}).detect(),
          "loss.relapse"));
}

TEST(LossRelapse, AScheduleThatStartsAnewIsAnotherThing) {
  RunOf run;
  run.loss({2, 1.5, 1.3, 1.2, 1.15, 1.12, 1.1, 1.7, 1.3, 1.2, 1.1, 1.05});
  run.with("lr", record::Role::lr, {1, 0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 1, 0.9, 0.7, 0.5, 0.3});
  EXPECT_FALSE(has(run.detect(), "loss.relapse"));
}

TEST(LossRelapse, WhatNeverHealsHasDiverged) {
  EXPECT_FALSE(has(RunOf().loss({2, 1.5, 1.3, 1.2, 1.15, 1.12, 1.1, 2.4, 2.3, 2.3, 2.3}).detect(),
                   "loss.relapse"));
}

}  // namespace
}  // namespace aplomb::testing
