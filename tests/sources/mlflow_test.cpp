#include <gtest/gtest.h>

#include <cmath>

#include "reader_support.h"

namespace aplomb {
namespace {

using test::read_with;

constexpr std::string_view k_path = "mlruns/1/ab12/metrics/train/loss";

TEST(Mlflow, TakesTheNameFromThePath) {
  const aplomb::Run run =
      read_with("mlflow", "1628697792090 332.6 0\n1628697795789 nan 1\n1628697799319 inf 2", 1000,
                std::string(k_path));
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].raw_name, "train/loss");
  EXPECT_EQ(run.series[0].role, Role::loss);
  EXPECT_EQ(run.series[0].step, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(std::isnan(run.series[0].value[1]));
  EXPECT_TRUE(std::isinf(run.series[0].value[2]));
}

TEST(Mlflow, NumbersTheLinesWhereThereIsNoStep) {
  const aplomb::Run run =
      read_with("mlflow", "1628697792090 3\n1628697795789 2\n", 1000, std::string(k_path));
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].step_kind, StepKind::ordinal);
  EXPECT_EQ(run.series[0].step, (std::vector<std::int64_t>{0, 1}));
}

TEST(Mlflow, SaysWhichLinesItCannotRead) {
  const aplomb::Run run =
      read_with("mlflow", "1628697792090 3 0\nhello\n1628697792091 2 1 7\n1628697792092 2 2", 1000,
                std::string(k_path));
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].times, 2U);
  EXPECT_EQ(run.series[0].count, 2U);
}

TEST(Mlflow, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader(k_path, "1628697792090 332.6 0\n"), "mlflow");
  EXPECT_NE(test::chosen_reader(k_path, "1 332.6 0\n"), "mlflow");
  EXPECT_NE(test::chosen_reader("a/metrics/readme", "these are metrics"), "mlflow");
}

}  // namespace
}  // namespace aplomb
