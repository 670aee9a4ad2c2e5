// Stages of one line, and lines that wait for their neighbours. Whole logs of every trainer:
// tests/sources/text_log_test.cpp.

#include "log_text/scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace aplomb::log_text {
namespace {

record::Run scanned(const std::vector<std::string>& lines,
                    LogScanner::Reading reading = LogScanner::Reading::all) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  LogScanner scanner({}, build, source, reading);
  std::uint64_t number = 0;
  for (const std::string& line : lines) scanner.line({line, ++number, 0, true});
  scanner.finish();
  return run;
}

std::vector<double> values(const record::Run& run, std::string_view name) {
  const record::Series* series = run.find(name);
  return series == nullptr ? std::vector<double>() : series->value;
}

/// A bar that carries metrics waits for its last drawing; the record below it is read meanwhile.
TEST(LogScanner, ABarThatWaitsAndTheRecordBelowItKeepTheirOwnSamples) {
  const record::Run run = scanned({
      "Epoch 0:  22%|##  | 4/18 [00:17<01:02,  4.47s/it, train_loss=10.5]",
      "step 5: eval_loss: 1.5, eval_accuracy: 0.25",
      "Epoch 0:  33%|##  | 6/18 [00:27<01:02,  4.47s/it, train_loss=9.5]",
      "step 7: eval_loss: 1.25, eval_accuracy: 0.5",
  });
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{10.5, 9.5}));
  EXPECT_EQ(values(run, "eval_loss"), (std::vector<double>{1.5, 1.25}));
}

/// Bars whose unit is the sample are drawn by loaders and trainers alike: a loss tells which.
TEST(LogScanner, ABarOverSamplesIsThatOfTrainingWhereItCarriesALoss) {
  const record::Run run = scanned({
      "Epoch 1/3: 100%|##| 64/64 [00:04<00:00, 16.20img/s, loss=0.75]",
      "Epoch 2/3: 100%|##| 64/64 [00:04<00:00, 16.10img/s, loss=0.5]",
  });
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{0.75, 0.5}));
  EXPECT_TRUE(values(run, "step_time_s").empty()) << "the seconds of a sample are not a step's";
  EXPECT_EQ(values(scanned({"Caching train: 100%|##| 64/64 [00:04<00:00, 16.20img/s, hits=0.5]"}),
                   "hits"),
            std::vector<double>());
}

/// `loss (batch)`: a remark in brackets behind a name that is known without it.
TEST(LogScanner, ARemarkInBracketsBehindANameIsNoPartOfIt) {
  const record::Run run = scanned({
      "Epoch 1/3: 100%|##| 40/40 [00:08<00:00,  5.01it/s, loss (batch)=-2.5e+5]",
      "Epoch 2/3: 100%|##| 40/40 [00:08<00:00,  5.03it/s, loss (batch)=-3.5e+6]",
      "Epoch 3/3: 100%|##| 40/40 [00:08<00:00,  5.02it/s, loss (batch)=-1.5e+7]",
  });
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{-2.5e5, -3.5e6, -1.5e7}));
  const record::Run both = scanned({
      "epoch 1: loss (train): 1.5, loss (val): 2.5",
      "epoch 2: loss (train): 1.25, loss (val): 2.25",
  });
  EXPECT_EQ(values(both, "loss"), (std::vector<double>{1.5, 1.25}));
  EXPECT_EQ(values(both, "eval_loss"), (std::vector<double>{2.5, 2.25}));
}

/// What a record of metrics states is no setting of the run, though it waits for a bar.
TEST(LogScanner, ARecordThatWaitsForItsBarIsNotReadAsSettings) {
  const record::Run run = scanned({
      "  2%|#   | 1/60 [00:00<00:36,  1.62it/s]",
      "{'loss': 0.693, 'grad_norm': 1.449, 'learning_rate': 4e-05}",
      "  3%|#   | 2/60 [00:01<00:36,  1.62it/s]",
  });
  EXPECT_EQ(values(run, "lr"), (std::vector<double>{4e-05}));
  EXPECT_TRUE(run.settings.empty());
}

TEST(LogScanner, WhatFollowsABarInItsLineIsALineOfItsOwn) {
  const record::Run run = scanned({
      "  2%|#   | 1/60 [00:00<00:36,  1.62it/s]step 1 loss 2.5 grad_norm 1.0",
      "  3%|#   | 2/60 [00:01<00:36,  1.62it/s]step 2 loss 2.25 grad_norm 1.0",
  });
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{2.5, 2.25}));
}

TEST(LogScanner, LinesOfAProgramAreNoMetrics) {
  const record::Run run = scanned({
      "def train(model):",
      "learning_rate = 0.5",
      "loss = 0.25;",
      "step 1 loss 2.5 grad_norm 1.0",
      "step 2 loss 2.25 grad_norm 1.0",
  });
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{2.5, 2.25}));
  EXPECT_EQ(run.find("lr"), nullptr);
}

/// The same lines read as metrics alone say nothing in words.
TEST(LogScanner, ReadingMetricsLeavesTheWordsToOthers) {
  const std::vector<std::string> lines = {
      "learning_rate: 0.001",
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
      "step 1 loss 2.5 grad_norm 1.0",
      "step 2 loss 2.25 grad_norm 1.0",
  };
  const record::Run all = scanned(lines);
  EXPECT_FALSE(all.settings.empty());
  EXPECT_FALSE(all.events.empty());
  const record::Run metrics = scanned(lines, LogScanner::Reading::metrics);
  EXPECT_EQ(values(metrics, "loss"), values(all, "loss"));
  EXPECT_TRUE(metrics.settings.empty());
  EXPECT_TRUE(metrics.events.empty());
}

/// What people write who print a table: names behind a `#`, any names between tabs, one blank
/// between some names and two between others, rows far below their head.
TEST(LogScanner, TablesOfAnyNames) {
  const record::Run marked = scanned({"# 5000 recordings, crop 64", "# step\tnt_xent\t5nn",
                                      "1\t4.8\t-", "8\t4.5\t0.9", "16\tnan\t0.1"});
  EXPECT_EQ(values(marked, "nt_xent").size(), 3U);
  EXPECT_EQ(values(marked, "5nn"), (std::vector<double>{0.9, 0.1}));
  const record::Run mixed = scanned(
      {"epoch train_loss train_acc  val_loss  val_acc", "GPU available: False",
       "    0     1.53     0.43    1.37    0.51", "    1     1.33     0.55    1.35    0.52"});
  EXPECT_EQ(values(mixed, "eval_loss"), (std::vector<double>{1.37, 1.35}));
}

TEST(LogScanner, StepsThatAreCountedOutOfATotalTellHowLongTheRunIsToBe) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 8; ++i)
    lines.push_back("step " + std::to_string(i) + "/12000 loss 2.5 lr 3e-7");
  const record::Run whole = scanned(lines);
  ASSERT_NE(whole.setting("train.max_steps"), nullptr);
  EXPECT_EQ(*core::as_number(whole.setting("train.max_steps")->value), 12000);
  lines.push_back("step 1/300 loss 2.4 lr 3e-7");
  EXPECT_EQ(scanned(lines).setting("train.max_steps"), nullptr) << "parts of a run";
}

TEST(LogScanner, ColumnsOfTheWidthOfTheirNames) {
  const record::Run run = scanned({" ep     loss    recon       kl val_recon   val_kl active",
                                   "  0   0.5587   0.5565   0.0022    0.5018   0.0003      0",
                                   "  1   0.5023   0.5021   0.0002    0.4992   0.0001      0"});
  EXPECT_EQ(values(run, "val_recon"), (std::vector<double>{0.5018, 0.4992}));
  EXPECT_EQ(values(run, "active"), (std::vector<double>{0, 0}));
}

/// A table a step, drawn below a line that counts: the row is of that step. Without such a line, and
/// in a second row, something else is compared.
TEST(LogScanner, ATableDrawnForEachStep) {
  const record::Run rows =
      scanned({"      grpo step 2/60      ", "┏━━━━━━━━━┳━━━━━━━━┓", "┃    loss ┃ reward ┃",
               "┡━━━━━━━━━╇━━━━━━━━┩", "│ -0.0122 │ 0.5469 │", "└─────────┴────────┘",
               "      grpo step 4/60      ", "┏━━━━━━━━━┳━━━━━━━━┓", "┃    loss ┃ reward ┃",
               "┡━━━━━━━━━╇━━━━━━━━┩", "│  0.0089 │ 0.4531 │", "│  0.5000 │ 0.9000 │"});
  EXPECT_EQ(values(rows, "reward"), (std::vector<double>{0.5469, 0.4531}));
  const record::Series* loss = rows.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step[1], 4);
  const record::Run pairs =
      scanned({"Epoch 1", "| metric   | value  |", "|----------|--------|", "| val_loss | 0.4122 |",
               "| loss     | 0.3300 |", "", "Epoch 2", "| metric   | value  |",
               "|----------|--------|", "| val_loss | 0.3911 |", "| loss     | 0.3100 |"});
  EXPECT_EQ(values(pairs, "eval_loss"), (std::vector<double>{0.4122, 0.3911}));
  EXPECT_EQ(values(pairs, "loss"), (std::vector<double>{0.33, 0.31}));
  const record::Run untitled =
      scanned({"| loss   | reward |", "|--------|--------|", "| 0.0089 | 0.4531 |"});
  EXPECT_EQ(untitled.find("reward"), nullptr);
}

TEST(LogScanner, HowManySamplesThereAreIsNoLoss) {
  const record::Run run =
      scanned({"windows: train 899 val 158 hold-out 265", "epoch  1   train 0.39   val 0.47",
               "epoch  2   train 0.28   val 0.38", "epoch  3   train 0.21   val 0.32"});
  std::size_t losses = 0;
  for (const record::Series& each : run.series) {
    const bool counts = !each.value.empty() && each.value.front() > 100;
    EXPECT_TRUE(!counts || each.role == record::Role::other) << each.name;
    losses += each.value == std::vector<double>{0.39, 0.28, 0.21};
  }
  EXPECT_EQ(losses, 1U);
}

TEST(LogScanner, AdversariesByTheirLetters) {
  const record::Run run =
      scanned({"iter 150: D 1.286 G 0.820  hq 0.2", "iter 300: D 1.301 G 0.861  hq 0.3",
               "iter 450: D 1.331 G 0.867  hq 0.4", "iter 600: D 1.341 G 0.869  hq 0.4"});
  EXPECT_EQ(values(run, "loss/d").size(), 4U);
  EXPECT_EQ(values(run, "loss/g").size(), 4U);
}

/// The offsets of these lines are 0: a real log's are not.
TEST(LogScanner, AScoreBehindTheLastRecordIsWhatCameOut) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  LogScanner scanner({}, build, source, LogScanner::Reading::all);
  std::uint64_t number = 0;
  for (const std::string line :
       {"step 1 loss 2.0", "step 2 loss 1.0", "step 3 loss 0.7", "exact 0 / 16"})
    scanner.line({line, number + 1, 100 * ++number, true});
  scanner.finish();
  EXPECT_TRUE(std::any_of(run.events.begin(), run.events.end(),
                          [](const record::Event& event) { return event.kind == "score-none"; }));
}

TEST(LogScanner, ABareWordForHeldOutDataIsTheirLoss) {
  const record::Run run =
      scanned({"  75/450  4.3s  bpc 3.12  valid 0.79", " 150/450  9.0s  bpc 0.24  valid 0.11"});
  EXPECT_EQ(values(run, "eval_loss"), (std::vector<double>{0.79, 0.11}));
}

TEST(LogScanner, ATracebackKeepsTheInnermostLineOfTheProgramItself) {
  const record::Run run = scanned({
      "Traceback (most recent call last):",
      "  File \"/home/me/proj/train.py\", line 76, in main",
      "    loss = crit(model(x), y)",
      "           ^^^^^^^^^^^^^^^^^",
      "  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 9, in "
      "call",
      "    return self._call_impl(*args)",
      "ValueError: Expected more than 1 value per channel when training",
  });
  const auto traceback =
      std::find_if(run.events.begin(), run.events.end(),
                   [](const record::Event& event) { return event.kind == "traceback"; });
  ASSERT_NE(traceback, run.events.end());
  EXPECT_EQ(*core::as_text(traceback->caught.at("own_text")),
            "train.py:76: loss = crit(model(x), y)");
}

}  // namespace
}  // namespace aplomb::log_text
