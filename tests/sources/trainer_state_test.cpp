#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;

const std::string k_state = R"({
  "best_metric": null,
  "global_step": 30,
  "log_history": [
    {"epoch": 0.1, "grad_norm": 1.25, "learning_rate": 5e-05, "loss": 2.5, "step": 10},
    {"epoch": 0.2, "grad_norm": NaN, "learning_rate": 4e-05, "loss": 0.0, "step": 20},
    {"epoch": 0.2, "eval_loss": Infinity, "eval_runtime": 3.1, "eval_names": ["a", {"b": 1}], "step": 20},
    {"epoch": 0.3, "grad_norm": -Infinity, "learning_rate": 3e-05, "loss": NaN, "step": 30},
    {"epoch": 0.3, "step": 30, "total_flos": 1e15, "train_loss": 0.9, "train_runtime": 12.5}
  ],
  "max_steps": 300, "num_train_epochs": 3, "logging_steps": 10, "trial_params": null
})";

TEST(TrainerState, GivesSeriesByStepWithNaNAndInfinity) {
  const aplomb::record::Run run = read_with("trainer-state", k_state);
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(loss->value[1], 0.0);
  EXPECT_TRUE(std::isnan(loss->value[2]));
  EXPECT_EQ(loss->step_kind, record::StepKind::explicit_);
  const record::Series* norm = run.primary(record::Role::grad_norm);
  ASSERT_NE(norm, nullptr);
  EXPECT_TRUE(std::isnan(norm->value[1]));
  EXPECT_EQ(norm->value[2], -std::numeric_limits<double>::infinity());
  const record::Series* held_out = run.primary(record::Role::eval_loss);
  ASSERT_NE(held_out, nullptr);
  EXPECT_EQ(held_out->step, (std::vector<std::int64_t>{20}));
}

TEST(TrainerState, TakesTheMeanOfTheRunForNoSample) {
  const aplomb::record::Run run = read_with("trainer-state", k_state);
  for (const record::Series& series : run.series) {
    EXPECT_EQ(series.role == record::Role::loss, series.raw_name == "loss");
  }
}

TEST(TrainerState, KeepsWhatWasPlannedAsSettings) {
  const aplomb::record::Run run = read_with("trainer-state", k_state);
  ASSERT_NE(run.setting("train.max_steps"), nullptr);
  EXPECT_EQ(*core::as_number(run.setting("train.max_steps")->value), 300);
  EXPECT_EQ(*core::as_number(run.setting("train.epochs")->value), 3);
}

TEST(TrainerState, ReadsTheSameInPartsOfAnySize) {
  const aplomb::record::Run whole = read_with("trainer-state", k_state);
  for (const std::size_t part : {1UL, 7UL, 100UL})
    test::expect_same_series(whole, read_with("trainer-state", k_state, part));
}

TEST(TrainerState, GivesTheRecordsBeforeATearAtEveryByte) {
  for (std::size_t size = 0; size < k_state.size(); ++size) {
    const aplomb::record::Run run = read_with("trainer-state", k_state.substr(0, size));
    ASSERT_EQ(run.defects.size(), 1U) << size;
    EXPECT_EQ(run.defects[0].kind, "truncated") << size << ": " << run.defects[0].text;
  }
  const aplomb::record::Run run =
      read_with("trainer-state", k_state.substr(0, k_state.find("\"step\": 30}")));
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_GE(run.primary(record::Role::loss)->size(), 2U);
}

TEST(TrainerState, SaysWhereItIsNoJson) {
  std::string bad = k_state;
  bad.replace(bad.find("4e-05"), 5, "4;-05");
  const aplomb::record::Run run = read_with("trainer-state", bad);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "bad-json");
  EXPECT_NE(run.primary(record::Role::loss), nullptr);
}

TEST(TrainerState, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader("x/trainer_state.json", k_state), "trainer-state");
  EXPECT_NE(test::chosen_reader("x/config.json", R"({"model_type": "llama", "hidden_size": 64})"),
            "trainer-state");
}

}  // namespace
}  // namespace aplomb::sources
