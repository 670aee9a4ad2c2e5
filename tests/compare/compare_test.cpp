#include "compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compare/made_run.h"

namespace aplomb::compare {
namespace {

using test::add_series;
using test::add_setting;
using test::falling_loss;
using test::run_with_loss;
using ::testing::HasSubstr;

constexpr std::size_t k_size = 200;

Comparison compared(const aplomb::record::Run& a, const aplomb::record::Run& b,
                    const std::vector<aplomb::record::Run>& seeds = {}) {
  auto made = compare_runs(a, b, {seeds, {}}, Axis::step);
  EXPECT_TRUE(made) << (made ? "" : made.error().text);
  return made ? std::move(*made) : Comparison{};
}

std::string refused(const aplomb::record::Run& a, const aplomb::record::Run& b,
                    Axis axis = Axis::step) {
  const auto made = compare_runs(a, b, {}, axis);
  return made ? "" : made.error().text;
}

TEST(Compare, StepsAtWhichFurtherRunsEndInNanAreKept) {
  const auto broken = [](const char* name, std::uint64_t seed, std::size_t from) {
    std::vector<double> loss = falling_loss(seed, k_size);
    for (std::size_t i = from; i < k_size; ++i) loss[i] = std::numeric_limits<double>::quiet_NaN();
    return run_with_loss(name, loss);
  };
  const Comparison made = compared(broken("a", 1, 120), broken("b", 2, 90), {broken("c", 3, 150)});
  EXPECT_EQ(made.lost_a, 121);
  EXPECT_EQ(made.lost_b, 91);
  EXPECT_THAT(made.lost_further, ::testing::ElementsAre(151));
}

TEST(Compare, TheSameRunTwiceIsIdentical) {
  const Comparison made = compared(run_with_loss("a", falling_loss(1, k_size)),
                                   run_with_loss("b", falling_loss(1, k_size)));
  EXPECT_EQ(made.verdict, Judgement::identical);
  EXPECT_EQ(made.bits.last, 200.0);
  EXPECT_FALSE(made.bits.difference);
}

TEST(Compare, EqualToAStepAndThenNot) {
  std::vector<double> b = falling_loss(1, k_size);
  for (std::size_t i = 50; i < k_size; ++i) b[i] += 0.5;
  const Comparison made =
      compared(run_with_loss("a", falling_loss(1, k_size)), run_with_loss("b", b));
  EXPECT_EQ(made.verdict, Judgement::differ);
  EXPECT_EQ(made.bits.last, 50.0);
  EXPECT_EQ(made.bits.difference, 51.0);
  EXPECT_EQ(made.bits.metric, "loss");
  const Metric& loss = made.leading();
  ASSERT_TRUE(loss.apart());
  EXPECT_DOUBLE_EQ(loss.pairs.at[*loss.apart()], 51);
}

TEST(Compare, AnotherSeedIsTheSame) {
  const Comparison made = compared(run_with_loss("a", falling_loss(1, k_size)),
                                   run_with_loss("b", falling_loss(2, k_size)));
  EXPECT_EQ(made.verdict, Judgement::same);
  EXPECT_EQ(made.leading().ending.basis, Basis::within);
}

TEST(Compare, HeldOutDataLeads) {
  aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  aplomb::record::Run b = run_with_loss("b", falling_loss(2, k_size));
  for (double worse : {0.0, 0.5}) {
    std::vector<double> eval = falling_loss(worse > 0 ? 3 : 4, 40, 0.01);
    for (double& each : eval) each += worse;
    add_series(worse > 0 ? b : a, "eval_loss", record::Role::eval_loss, eval, 5);
  }
  const Comparison made = compared(a, b);
  EXPECT_EQ(made.verdict, Judgement::differ);
  EXPECT_EQ(made.leading().name, "eval_loss");
  EXPECT_EQ(made.outcomes, 2U);
}

TEST(Compare, TheLossOfReinforcementLearningIsNoOutcome) {
  aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  std::vector<double> other = falling_loss(2, k_size);
  for (double& each : other) each += 3;
  aplomb::record::Run b = run_with_loss("b", other);
  add_series(a, "reward", record::Role::reward, falling_loss(5, k_size));
  add_series(b, "reward", record::Role::reward, falling_loss(6, k_size));
  const Comparison made = compared(a, b);
  EXPECT_EQ(made.verdict, Judgement::same);
  EXPECT_EQ(made.leading().name, "reward");
}

TEST(Compare, TheRunThatEndsInNanDiffers) {
  std::vector<double> b = falling_loss(1, k_size);
  for (std::size_t i = 100; i < k_size; ++i) b[i] = std::numeric_limits<double>::quiet_NaN();
  const Comparison made =
      compared(run_with_loss("a", falling_loss(1, k_size)), run_with_loss("b", b));
  EXPECT_EQ(made.verdict, Judgement::differ);
  EXPECT_DOUBLE_EQ(made.leading().pairs.at[*made.leading().apart()], 101);
}

TEST(Compare, TheLargestNumbersAreTakenAsBroken) {
  std::vector<double> b = falling_loss(1, k_size);
  for (std::size_t i = 20; i < k_size; ++i) b[i] = i % 2 == 0 ? 1.7e308 : -1.7e308;
  const Comparison made =
      compared(run_with_loss("a", falling_loss(1, k_size)), run_with_loss("b", b));
  EXPECT_EQ(made.verdict, Judgement::differ);
  EXPECT_TRUE(std::isnan(made.leading().ending.b));
}

TEST(Compare, ACopyOfTheBaselineIsNoNoise) {
  const aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  const Comparison made = compared(a, run_with_loss("b", falling_loss(2, k_size)),
                                   {run_with_loss("c", falling_loss(1, k_size))});
  EXPECT_EQ(made.leading().ending.basis, Basis::within);
  ASSERT_FALSE(made.notes.empty());
  EXPECT_THAT(made.notes.back(), HasSubstr("very numbers of the first"));
}

TEST(Compare, RunsOfOtherLengthAreComparedAsFarAsBothGo) {
  const Comparison made =
      compared(run_with_loss("a", falling_loss(1, 300)), run_with_loss("b", falling_loss(2, 100)));
  EXPECT_EQ(made.leading().pairs.size(), 100U);
  ASSERT_FALSE(made.notes.empty());
  EXPECT_THAT(made.notes[0], HasSubstr("compared as far as both go"));
}

TEST(Compare, AFewSamplesAreNotJudged) {
  const Comparison made = compared(run_with_loss("a", {3, 2, 1}), run_with_loss("b", {3, 2, 1.5}));
  EXPECT_EQ(made.verdict, Judgement::unknown);
}

TEST(Compare, SmallDifferencesOfSpeedStandBesideTheVerdict) {
  aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  aplomb::record::Run b = run_with_loss("b", falling_loss(1, k_size));
  add_series(a, "step_time_s", record::Role::step_time_s, {1.0, 1.0, 1.1, 0.9, 1.0});
  add_series(b, "step_time_s", record::Role::step_time_s, {1.3, 1.4, 1.3, 1.2, 9.0});
  const Comparison made = compared(a, b);
  EXPECT_TRUE(made.levels[0].clear());
  EXPECT_FALSE(made.cost);
  EXPECT_EQ(made.verdict, Judgement::identical);
}

TEST(Compare, HalfTheSpeedIsADifference) {
  aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  aplomb::record::Run b = run_with_loss("b", falling_loss(1, k_size));
  add_series(a, "step_time_s", record::Role::step_time_s, {1.0, 1.0, 1.1, 0.9, 1.0});
  add_series(b, "step_time_s", record::Role::step_time_s, {2.0, 2.1, 2.0, 1.9, 9.0});
  add_series(a, "memory_bytes", record::Role::memory_bytes, {100, 200, 150});
  add_series(b, "memory_bytes", record::Role::memory_bytes, {100, 300, 150});
  const Comparison made = compared(a, b);
  EXPECT_EQ(made.verdict, Judgement::differ);
  EXPECT_EQ(made.cost, 0U);
  ASSERT_EQ(made.levels.size(), 2U);
  EXPECT_DOUBLE_EQ(made.levels[0].ratio(), 2);
  EXPECT_TRUE(made.levels[0].clear());
  EXPECT_DOUBLE_EQ(made.levels[1].ratio(), 1.5);
}

TEST(Compare, SaysWhyItCannotCompare) {
  const aplomb::record::Run full = run_with_loss("a", falling_loss(1, k_size));
  aplomb::record::Run empty;
  empty.name = "empty";
  EXPECT_THAT(refused(full, empty), HasSubstr("B (empty) holds no metrics"));
  aplomb::record::Run other;
  add_series(other, "reward", record::Role::reward, {1, 2, 3});
  EXPECT_THAT(refused(full, other), HasSubstr("no metric in common: A has loss; B has reward"));
  aplomb::record::Run epochs;
  add_series(epochs, "loss", record::Role::loss, {3, 2, 1}, 1, record::StepKind::epoch);
  EXPECT_THAT(refused(full, epochs), HasSubstr("A is logged by step, B by epoch"));
  EXPECT_THAT(refused(full, full, Axis::tokens), HasSubstr("does not tell its tokens"));
}

TEST(Compare, PerCentAndSharesAreDifferentUnits) {
  aplomb::record::Run a = run_with_loss("a", falling_loss(1, k_size));
  aplomb::record::Run b = run_with_loss("b", falling_loss(2, k_size));
  add_series(a, "accuracy", record::Role::accuracy, {0.1, 0.5, 0.9});
  add_series(b, "accuracy", record::Role::accuracy, {10, 50, 90});
  const Comparison made = compared(a, b);
  ASSERT_EQ(made.refused.size(), 1U);
  EXPECT_THAT(made.refused[0].why, HasSubstr("different units: A is a share, B in per cent"));
}

TEST(Explain, TheSettingThatTheRemediesOfTheWorseRunChangeIsTheFirstSuspect) {
  record::Run a = run_with_loss("a", falling_loss(1, 100));
  std::vector<double> lost = falling_loss(1, 100);
  std::fill(lost.begin() + 60, lost.end(), std::nan(""));
  record::Run b = run_with_loss("b", lost);
  add_setting(a, "optim.lr", 0.001);
  add_setting(b, "optim.lr", 0.1);
  add_setting(a, "optim.weight_decay", 0.01);
  add_setting(b, "optim.weight_decay", 0.02);
  auto made = compare_runs(a, b, {}, Axis::step);
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(worse_of(*made), Side::b);
  explain(*made, std::nullopt, Ailment{"stall.x", "x", 0.9, "mend it", {"optim.weight_decay"}});
  EXPECT_EQ(made->settings.front().name, "optim.weight_decay");
  explain(*made, Ailment{"stall.y", "y", 0.9, "", {"optim.lr"}}, std::nullopt);
  EXPECT_EQ(made->settings.front().name, "optim.weight_decay") << "A is not the worse one";
}

TEST(Explain, OfRunsThatAreTheSameNoneIsWorse) {
  const auto made = compare_runs(run_with_loss("a", falling_loss(1, 200)),
                                 run_with_loss("b", falling_loss(2, 200)), {}, Axis::step);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(worse_of(*made), std::nullopt);
}

TEST(ChosenRun, IsTheOneWithTheMostSamplesAndIsNamed) {
  std::vector<aplomb::record::Run> runs;
  runs.push_back(run_with_loss("short", falling_loss(1, 10)));
  runs.push_back(run_with_loss("long", falling_loss(1, 20)));
  std::string note;
  const auto chosen = chosen_run(std::move(runs), "folder", note);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->name, "long");
  EXPECT_THAT(note, HasSubstr("folder holds 2 runs: long is taken"));
  EXPECT_FALSE(chosen_run({}, "nothing", note));
}

}  // namespace
}  // namespace aplomb::compare
