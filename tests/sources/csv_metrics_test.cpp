#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;
using Steps = std::vector<std::int64_t>;

const std::string k_lightning =
    "epoch,step,train_loss_epoch,train_loss_step,val_loss\r\n"
    "0,49,,7.5,\r\n0,99,,nan,\r\n0,99,,,6.5\r\n0,99,7.25,,\r\n1,149,,5.5,\r\n";

TEST(CsvMetrics, LeavesEmptyCellsOut) {
  const aplomb::record::Run run = read_with("csv-metrics", k_lightning);
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->raw_name, "train_loss_step");
  EXPECT_EQ(loss->step, (Steps{49, 99, 149}));
  EXPECT_EQ(loss->line, (std::vector<std::uint64_t>{2, 3, 6}));
  EXPECT_TRUE(std::isnan(loss->value[1]));
  ASSERT_NE(run.primary(record::Role::eval_loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::eval_loss)->step, (Steps{99}));
}

TEST(CsvMetrics, ReadsTheSameInPartsOfAnySize) {
  const aplomb::record::Run whole = read_with("csv-metrics", k_lightning);
  for (const std::size_t part : {1UL, 5UL, 64UL})
    test::expect_same_series(whole, read_with("csv-metrics", k_lightning, part));
}

TEST(CsvMetrics, TrimsPaddedHeadersAndTellsHeldOutComponents) {
  const aplomb::record::Run run =
      read_with("csv-metrics",
                "     epoch,  train/box_loss,  val/box_loss,     x/lr0\n"
                "         0,         0.12402,        0.1333,      8e-05\n"
                "         1,         0.12157,        0.1250,   0.000168\n");
  const record::Series* box = run.find("loss/box");
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->role, record::Role::loss_component);
  EXPECT_EQ(box->step_kind, record::StepKind::epoch);
  EXPECT_EQ(box->step, (Steps{0, 1}));
  ASSERT_NE(run.find("eval_loss/box"), nullptr);
}

TEST(CsvMetrics, NumbersRowsThatSayNothingOfTheirPlace) {
  const aplomb::record::Run run = read_with("csv-metrics", "val_loss,loss\n1.5,1.25\n1.25,1.0\n");
  EXPECT_EQ(run.primary(record::Role::loss)->step, (Steps{0, 1}));
  EXPECT_EQ(run.primary(record::Role::loss)->step_kind, record::StepKind::ordinal);
}

TEST(CsvMetrics, ReadsATableWithoutHeader) {
  const aplomb::record::Run run =
      read_with("csv-metrics", "99,0.6875,0.0078,0.61\n199,0.625,,0.62\n");
  ASSERT_EQ(run.series.size(), 3U);
  EXPECT_EQ(run.series[0].step, (Steps{99, 199}));
  EXPECT_EQ(run.series[1].count, 1U);
}

TEST(CsvMetrics, ReadsBothSidesOfAMergeConflict) {
  const aplomb::record::Run run = read_with(
      "csv-metrics",
      "loss,lr\n<<<<<<< HEAD\n0.9,0.01\n0.8,0.01\n=======\n0.7,0.02\n0.6,0.02\n>>>>>>> a1b2c3\n");
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (Steps{0, 1, 0, 1}));
  EXPECT_EQ(loss->segment, (std::vector<std::uint16_t>{0, 0, 1, 1}));
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "merge-conflict");
}

TEST(CsvMetrics, TakesASecondHeaderForANewStart) {
  const aplomb::record::Run run =
      read_with("csv-metrics", "step,loss\n1,3\n2,2\nstep,loss,lr\n1,3.5,0.1\n2,2.5,0.1\n");
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (Steps{1, 2, 1, 2}));
  EXPECT_EQ(run.restarts, 1U);
  EXPECT_EQ(run.primary(record::Role::lr)->count, 2U);
}

TEST(CsvMetrics, ReadsQuotedAndWrappedNumbersAndDecimalCommas) {
  const aplomb::record::Run quoted = read_with(
      "csv-metrics",
      "step,loss\n\"1\",\"2.5\"\n2,\"tensor(2.25, device='cuda:0')\"\n3,tensor(2., grad_fn=<X>)\n");
  EXPECT_EQ(quoted.primary(record::Role::loss)->value, (std::vector<double>{2.5, 2.25, 2}));
  const aplomb::record::Run commas = read_with("csv-metrics", "step;loss\n1;2,5\n2;0,125\n");
  EXPECT_EQ(commas.primary(record::Role::loss)->value, (std::vector<double>{2.5, 0.125}));
}

TEST(CsvMetrics, DoubtsTheLastCellOfATornRow) {
  const aplomb::record::Run run = read_with("csv-metrics", "step,lr,loss\n1,0.1,2.5\n2,0.1,2.2");
  EXPECT_EQ(run.primary(record::Role::loss)->count, 1U);
  EXPECT_EQ(run.primary(record::Role::lr)->count, 2U);
}

TEST(CsvMetrics, SniffsMetricsButNoDatasets) {
  EXPECT_EQ(test::chosen_reader("metrics.csv", k_lightning), "csv-metrics");
  EXPECT_EQ(test::chosen_reader("log.csv.gz", "loss,val_loss\n1.0,2.0\n"), "csv-metrics");
  EXPECT_EQ(test::chosen_reader("log.csv", "loss\n1.0\n0.5\n"), "csv-metrics");
  EXPECT_NE(test::chosen_reader("reviews.csv", "text,label\n\"good, very\",positive\n"),
            "csv-metrics");
  EXPECT_NE(test::chosen_reader("train.log", "step 1, loss 2.5\nstep 2, loss 2.25\n"),
            "csv-metrics");
}

}  // namespace
}  // namespace aplomb::sources
