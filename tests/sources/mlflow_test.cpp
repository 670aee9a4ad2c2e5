#include <gtest/gtest.h>

#include <cmath>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;

constexpr std::string_view k_path = "mlruns/1/ab12/metrics/train/loss";

TEST(Mlflow, TakesTheNameFromThePath) {
  const aplomb::record::Run run =
      read_with("mlflow", "1628697792090 332.6 0\n1628697795789 nan 1\n1628697799319 inf 2", 1000,
                std::string(k_path));
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].raw_name, "train/loss");
  EXPECT_EQ(run.series[0].role, record::Role::loss);
  EXPECT_EQ(run.series[0].step, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(std::isnan(run.series[0].value[1]));
  EXPECT_TRUE(std::isinf(run.series[0].value[2]));
}

TEST(Mlflow, NumbersTheLinesWhereThereIsNoStep) {
  const aplomb::record::Run run =
      read_with("mlflow", "1628697792090 3\n1628697795789 2\n", 1000, std::string(k_path));
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].step_kind, record::StepKind::ordinal);
  EXPECT_EQ(run.series[0].step, (std::vector<std::int64_t>{0, 1}));
}

TEST(Mlflow, SaysWhichLinesItCannotRead) {
  const aplomb::record::Run run =
      read_with("mlflow", "1628697792090 3 0\nhello\n1628697792091 2 1 7\n1628697792092 2 2", 1000,
                std::string(k_path));
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].times, 2U);
  EXPECT_EQ(run.series[0].count, 2U);
}

constexpr std::string_view k_run = "mlruns/1/0123456789abcdef0123456789abcdef/";

TEST(Mlflow, TakesParamsAndTagsForSettings) {
  const auto setting = [](std::string_view name, std::string_view value) {
    const aplomb::record::Run run =
        read_with("mlflow", value, 1000, std::string(k_run) + std::string(name));
    return run.settings.empty() ? std::string()
                                : run.settings[0].name + " = " + core::show(run.settings[0].value);
  };
  EXPECT_EQ(setting("params/learning_rate", "5e-05"), "optim.lr = 5e-05");
  EXPECT_EQ(setting("params/per_device_train_batch_size", "8\n"), "batch.micro = 8");
  EXPECT_EQ(setting("params/gradient_checkpointing", "True"),
            "memory.gradient_checkpointing = true");
  EXPECT_EQ(setting("params/optimizer/weight_decay", "0.1"), "optim.weight_decay = 0.1");
  EXPECT_EQ(setting("tags/num_train_epochs", "3"), "train.epochs = 3");
  EXPECT_EQ(setting("tags/mlflow.user", "3"), "");
  EXPECT_EQ(setting("params/max_length", "20"), "");  // what `generate` defaults to
  EXPECT_EQ(setting("params/max_length", "2048"), "data.max_length = 2048");
  EXPECT_EQ(setting("params/empty", ""), "");
}

TEST(Mlflow, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader(std::string(k_run) + "params/lr", "0.1"), "mlflow");
  EXPECT_NE(test::chosen_reader("model/params/lr", "0.1"), "mlflow");
  EXPECT_EQ(test::chosen_reader(k_path, "1628697792090 332.6 0\n"), "mlflow");
  EXPECT_NE(test::chosen_reader(k_path, "1 332.6 0\n"), "mlflow");
  EXPECT_NE(test::chosen_reader("a/metrics/readme", "these are metrics"), "mlflow");
}

}  // namespace
}  // namespace aplomb::sources
