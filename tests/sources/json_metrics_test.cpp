#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;
using Steps = std::vector<std::int64_t>;

const std::string k_lines =
    R"({"current_steps": 5, "total_steps": 90, "loss": 2.5, "eval_loss": null, "learning_rate": 1e-4, "epoch": 0.1, "elapsed_time": "0:01:02"}
{"current_steps": 10, "total_steps": 90, "loss": NaN, "eval_loss": null, "learning_rate": 9e-5, "epoch": 0.2, "elapsed_time": "0:02:02"}
{"current_steps": 10, "total_steps": 90, "eval_loss": "2.25", "epoch": 0.2}
{"current_steps": 15, "total_steps": 90, "loss": 2.0, "eval_loss": null, "learning_rate": 8e-5, "epoch": 0.3, "elapsed_time": "0:03:02"}
)";

TEST(JsonMetrics, ReadsARecordALine) {
  const aplomb::record::Run run = read_with("json-metrics", k_lines);
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (Steps{5, 10, 15}));
  EXPECT_EQ(loss->line, (std::vector<std::uint64_t>{1, 2, 4}));
  EXPECT_TRUE(std::isnan(loss->value[1]));
  ASSERT_NE(run.primary(record::Role::eval_loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::eval_loss)->value, (std::vector<double>{2.25}));
  ASSERT_NE(run.setting("train.max_steps"), nullptr);
  EXPECT_EQ(*core::as_number(run.setting("train.max_steps")->value), 90);
}

TEST(JsonMetrics, ReadsTheSameInPartsOfAnySize) {
  const aplomb::record::Run whole = read_with("json-metrics", k_lines);
  for (const std::size_t part : {1UL, 7UL, 100UL}) {
    test::expect_same_series(whole, read_with("json-metrics", k_lines, part));
  }
}

TEST(JsonMetrics, KeepsTheLinesAroundOneThatIsNoJson) {
  const aplomb::record::Run run =
      read_with("json-metrics",
                "{\"step\": 1, \"loss\": 2}\nTraceback (most recent call "
                "last):\n{\"step\": 2, \"loss\": 1}\n{\"step\": 3, \"lo");
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].step, (Steps{1, 2}));
  ASSERT_EQ(run.defects.size(), 2U);
  EXPECT_EQ(run.defects[0].kind, "bad-json");
  EXPECT_EQ(run.defects[1].kind, "truncated");
}

TEST(JsonMetrics, FlattensNestedRecordsAndTellsHeldOutData) {
  const aplomb::record::Run run =
      read_with("json-metrics", R"({"epoch": 0, "train": {"loss": 2}, "val": {"loss": 3}}
{"epoch": 1, "train": {"loss": 1}, "val": {"loss": 2.5}}
)");
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->value, (std::vector<double>{2, 1}));
  EXPECT_EQ(run.primary(record::Role::loss)->step_kind, record::StepKind::epoch);
  ASSERT_NE(run.primary(record::Role::eval_loss), nullptr);
  const aplomb::record::Run modes =
      read_with("json-metrics", R"({"mode": "train", "iter": 1, "loss": 2}
{"mode": "val", "iter": 1, "loss": 3}
)");
  ASSERT_NE(modes.primary(record::Role::eval_loss), nullptr);
  EXPECT_EQ(modes.primary(record::Role::eval_loss)->value, (std::vector<double>{3}));
  EXPECT_EQ(modes.primary(record::Role::loss)->value, (std::vector<double>{2}));
}

TEST(JsonMetrics, LaysStepsThatStartAgainWithEveryEpochEndToEnd) {
  std::string lines;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int iter = 0; iter < 4; ++iter) {
      lines += "{\"epoch\": " + std::to_string(epoch) + ", \"iter\": " + std::to_string(iter) +
               ", \"loss\": 1}\n";
    }
  }
  const aplomb::record::Run run = read_with("json-metrics", lines);
  EXPECT_EQ(run.primary(record::Role::loss)->step, (Steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(run.restarts, 0U);
}

TEST(JsonMetrics, TakesAStepThatGoesBackWithItsEpochForARestart) {
  const aplomb::record::Run run = read_with("json-metrics", R"({"epoch": 0.1, "step": 10, "loss": 3}
{"epoch": 0.2, "step": 20, "loss": 2}
{"epoch": 0.15, "step": 15, "loss": 2.4}
)");
  EXPECT_EQ(run.primary(record::Role::loss)->step, (Steps{10, 20, 15}));
  EXPECT_EQ(run.restarts, 1U);
}

TEST(JsonMetrics, ReadsValuesByStepInWhateverOrder) {
  const aplomb::record::Run run = read_with(
      "json-metrics",
      R"({"lm loss": {"start_step": 1, "end_step": 11, "step_interval": 1, "values": {"1": 10.8, "10": 10.1, "2": "nan"}},
          "val loss": {"start_step": 5, "step_interval": 5, "values": [3.5, 3.25]}})");
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (Steps{1, 2, 10}));
  EXPECT_TRUE(std::isnan(loss->value[1]));
  const record::Series* held_out = run.primary(record::Role::eval_loss);
  ASSERT_NE(held_out, nullptr);
  EXPECT_EQ(held_out->step, (Steps{5, 10}));
}

TEST(JsonMetrics, ReadsColumnsAndListsOfRecords) {
  const aplomb::record::Run columns = read_with(
      "json-metrics", R"({"history": {"loss": [3, 2, NaN], "val_loss": [3.5, 2.5, 2.25]}})");
  ASSERT_NE(columns.primary(record::Role::loss), nullptr);
  EXPECT_EQ(columns.primary(record::Role::loss)->count, 3U);
  EXPECT_EQ(columns.primary(record::Role::eval_loss)->value[2], 2.25);
  const aplomb::record::Run records =
      read_with("json-metrics", R"([{"step": 2, "loss": 1.5}, {"step": 4, "loss": 1.25}])");
  EXPECT_EQ(records.primary(record::Role::loss)->step, (Steps{2, 4}));
  const aplomb::record::Run pretty =
      read_with("json-metrics",
                "{\n \"step\": 2,\n \"loss\": 1.5\n}\n{\n \"step\": 4,\n \"loss\": 1.25\n}\n");
  EXPECT_EQ(pretty.primary(record::Role::loss)->step, (Steps{2, 4}));
}

TEST(JsonMetrics, RecordsBetweenWhichAProgramSpeaksAreALog) {
  const std::string spoken = k_lines + "resumed from ckpt/step_15 at step 15\n" + k_lines;
  EXPECT_EQ(test::chosen_reader("train.log", spoken), "text-log");
  EXPECT_EQ(test::chosen_reader("train.log", k_lines), "json-metrics");
  EXPECT_EQ(test::chosen_reader("metrics.jsonl", spoken), "json-metrics");
}

TEST(JsonMetrics, SniffsMetricsButNeitherConfigurationsNorDatasets) {
  EXPECT_EQ(test::chosen_reader("trainer_log.jsonl", k_lines), "json-metrics");
  EXPECT_EQ(test::chosen_reader("all_results.json",
                                R"({"epoch": 3.0, "train_loss": 0.5, "train_runtime": 100.2})"),
            "json-metrics");
  for (
      const std::string text :
      {R"({"learning_rate": 5e-5, "max_steps": 500, "num_train_epochs": 3})",
       R"({"hidden_size": 64, "vocab_size": 1000, "rope_theta": 10000.0})",
       R"({"train_batch_size": 8, "fp16": {"enabled": true, "loss_scale": 0}, "optimizer": {"params": {"lr": 1e-5}}})",
       "{\"instruction\": \"add\", \"output\": \"3\"}\n{\"instruction\": \"sub\", \"output\": "
       "\"1\"}\n",
       "{\"messages\": [{\"role\": \"user\", \"content\": \"loss is 3\"}]}\n{\"messages\": "
       "[]}\n"}) {
    EXPECT_NE(test::chosen_reader("file.json", text), "json-metrics") << text;
  }
}

}  // namespace
}  // namespace aplomb::sources
