#include "api/runs_beside.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace aplomb::api {
namespace {

record::Run run_of(const char* name, double seed, double rate = 1e-4) {
  record::Run run;
  run.name = name;
  run.settings.push_back({"seed.value", core::Value(seed), "seed", "", {}});
  run.settings.push_back({"optim.lr", core::Value(rate), "lr", "", {}});
  return run;
}

detectors::Symptom lost_at(std::int64_t step) {
  detectors::Symptom symptom;
  symptom.id = "loss.nonfinite";
  symptom.first_step = step;
  return symptom;
}

bool told(const record::Run& run, const char* name) {
  return std::any_of(run.facts.begin(), run.facts.end(),
                     [&](const record::Fact& each) { return each.name == name; });
}

TEST(RunsBeside, EqualRunsThatBreakAtOneStepPointToItsBatch) {
  std::vector<record::Run> runs = {run_of("a", 1), run_of("b", 1), run_of("c", 1)};
  add_runs_beside(runs, {{lost_at(40)}, {lost_at(40)}, {lost_at(40)}});
  for (const record::Run& each : runs) {
    EXPECT_TRUE(told(each, "beside.nan_same_step"));
    EXPECT_FALSE(told(each, "beside.nan_other_steps"));
  }
}

TEST(RunsBeside, EqualRunsThatBreakAtDifferentStepsPointAwayFromTheData) {
  std::vector<record::Run> runs = {run_of("a", 1), run_of("b", 1), run_of("c", 1)};
  add_runs_beside(runs, {{lost_at(40)}, {lost_at(71)}, {lost_at(55)}});
  EXPECT_TRUE(told(runs[0], "beside.nan_other_steps"));
  EXPECT_NE(runs[0].facts.back().because.find("40, 55, 71"), std::string::npos);
}

TEST(RunsBeside, TwoAtOneStepAndOneAtAnotherSayNothing) {
  std::vector<record::Run> runs = {run_of("a", 1), run_of("b", 1), run_of("c", 1)};
  add_runs_beside(runs, {{lost_at(40)}, {lost_at(40)}, {lost_at(55)}});
  for (const record::Run& each : runs) EXPECT_TRUE(each.facts.empty());
}

TEST(RunsBeside, OtherSeedsAtOneStepAreNoSample) {
  std::vector<record::Run> runs = {run_of("a", 1), run_of("b", 2)};
  add_runs_beside(runs, {{lost_at(40)}, {lost_at(40)}});
  EXPECT_TRUE(told(runs[0], "beside.nan_any_order"));
  EXPECT_FALSE(told(runs[0], "beside.nan_same_step"));
}

TEST(RunsBeside, RunsThatAreToldOtherwiseOrThatEndWellAreNotCompared) {
  std::vector<record::Run> runs = {run_of("a", 1), run_of("b", 1, 3e-4), run_of("c", 1)};
  add_runs_beside(runs, {{lost_at(40)}, {lost_at(40)}, {}});
  for (const record::Run& each : runs) EXPECT_TRUE(each.facts.empty());
}

}  // namespace
}  // namespace aplomb::api
