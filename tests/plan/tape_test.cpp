#include "plan/tape.h"

#include <gtest/gtest.h>

namespace aplomb::plan {
namespace {

struct Bench {
  Ledger ledger;
  Clock clock{Rates{}};
  Held weight = hold(ledger, Part::weights, 64 * 64 * 4);
  Gradient gradient;

  double kept() const { return ledger.live()[Part::activations]; }
};

TEST(PlanTape, AProductKeepsAFactorOnlyForTheGradientOfTheOther) {
  Bench bench;
  Tape tape(bench.ledger, bench.clock, 0);
  {
    const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 4), 640, 4, true);
    const Tensor frozen = tape.parameter(bench.weight, 64 * 64, 4, nullptr);
    const Tensor y = tape.linear(x, frozen, 10, 64, 64);
    EXPECT_EQ(bench.kept(), 0);
  }
  const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 4), 640, 4, true);
  const Tensor trained = tape.parameter(bench.weight, 64 * 64, 4, &bench.gradient);
  const Tensor y = tape.linear(x, trained, 10, 64, 64);
  EXPECT_EQ(bench.kept(), 640 * 4);
}

TEST(PlanTape, WhatNothingWantsTheGradientOfIsNotKept) {
  Bench bench;
  Tape tape(bench.ledger, bench.clock, 0);
  const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 4), 640, 4, false);
  const Tensor y = tape.saving_result(tape.saving_input(x));
  EXPECT_EQ(bench.kept(), 0);
  EXPECT_FALSE(y.needs_gradient());
}

TEST(PlanTape, AutocastKeepsOneCopyOfAWeightThatTrains) {
  Bench bench;
  Tape tape(bench.ledger, bench.clock, 2);
  const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 2), 640, 2, true);
  const Tensor trained = tape.parameter(bench.weight, 64 * 64, 4, &bench.gradient);
  const Tensor once = tape.linear(x, trained, 10, 64, 64);
  const Tensor twice = tape.linear(x, trained, 10, 64, 64);
  EXPECT_EQ(bench.ledger.live()[Part::cast_weights], 64 * 64 * 2);
}

TEST(PlanTape, BackwardGivesAllBackButTheGradients) {
  Bench bench;
  const Held input = hold(bench.ledger, Part::passing, 640 * 4);
  {
    Tape tape(bench.ledger, bench.clock, 0);
    const Tensor x = tape.input(input, 640, 4, false);
    const Tensor y = tape.saving_input(
        tape.linear(x, tape.parameter(bench.weight, 64 * 64, 4, &bench.gradient), 10, 64, 64));
    const Tensor loss = tape.mean(y, 1);
    tape.backward(loss);
    EXPECT_EQ(bench.ledger.live()[Part::gradients], 64 * 64 * 4);
  }
  EXPECT_EQ(bench.ledger.live().total(), 640 * 4 + 2 * 64 * 64 * 4);
}

TEST(PlanTape, ACheckpointKeepsItsInputAndRunsTheLayerAgain) {
  Bench bench;
  Tape tape(bench.ledger, bench.clock, 0);
  int runs = 0;
  const auto layer = [&](Tape& on, const Tensor& in) {
    ++runs;
    const Tensor weight = on.parameter(bench.weight, 64 * 64, 4, &bench.gradient);
    return on.saving_input(on.saving_input(on.linear(in, weight, 10, 64, 64)));
  };
  const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 4), 640, 4, true);
  const Tensor y = tape.checkpoint(x, {}, layer);
  EXPECT_EQ(bench.kept(), 640 * 4);
  tape.backward(tape.mean(y, 1));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(bench.ledger.live()[Part::gradients], 64 * 64 * 4);
}

TEST(PlanTape, AShardOfAGradientIsAllThatStays) {
  Bench bench;
  bench.gradient.share = 0.25;
  Tape tape(bench.ledger, bench.clock, 0);
  const Tensor x = tape.input(hold(bench.ledger, Part::passing, 640 * 4), 640, 4, false);
  const Tensor weight = tape.parameter(bench.weight, 64 * 64, 4, &bench.gradient);
  tape.backward(tape.mean(tape.linear(x, weight, 10, 64, 64), 1));
  EXPECT_EQ(bench.ledger.live()[Part::gradients], 64 * 64);
}

}  // namespace
}  // namespace aplomb::plan
