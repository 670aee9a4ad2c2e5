#include <gtest/gtest.h>

#include "tool_tables/table_support.h"

namespace aplomb::tool_tables {
namespace {

using test::expect_facts;
using test::read_table;

TEST(LightningProfile, TheLoadersShareIsThatOfTheEpochsLoop) {
  expect_facts(
      "FIT Profiler Report\n\n"
      "-----------------------------------------------------------------------------------\n"
      "|  Action                  |  Mean duration (s)  |  Num calls  |  Total time (s)  |  "
      "Percentage %  |\n"
      "-----------------------------------------------------------------------------------\n"
      "|  Total                   |  -                  |  1100       |  100.0           |  100 %  "
      "       |\n"
      "-----------------------------------------------------------------------------------\n"
      "|  run_training_epoch      |  80.0               |  1          |  80.0            |  80.0  "
      "        |\n"
      "|  [_TrainingEpochLoop].train_dataloader_next  |  0.6  |  100  |  60.0  |  60.0  |\n"
      "|  run_training_batch      |  0.2                |  100        |  20.0            |  20.0  "
      "        |\n"
      "plain text\n"
      "|  run_training_epoch      |  80.0               |  1          |  800.0           |  80.0  "
      "        |\n",
      {{"profile.loader_share", 0.75}});
}

TEST(LightningProfile, OldReportsHaveOnlyThePartsOfAStep) {
  expect_facts(
      "Action              \t|  Mean duration (s)\t|  Total time (s) \n"
      "-----------------------------------------------------------------\n"
      "on_train_start      \t|  0.0            \t|  0.0            \n"
      "get_train_batch     \t|  0.5            \t|  3.0            \n"
      "model_forward       \t|  0.2            \t|  0.5            \n"
      "model_backward      \t|  0.2            \t|  0.3            \n"
      "optimizer_step      \t|  0.2            \t|  0.2            \n",
      {{"profile.loader_share", 0.75}});
}

TEST(LightningProfile, AHeadWithoutRowsSaysNothing) {
  EXPECT_TRUE(read_table("Action  |  Mean duration (s)  |  Total time (s)\n").facts.empty());
}

}  // namespace
}  // namespace aplomb::tool_tables
