#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

using test::expect_settings;

TEST(SettingsText, ReadsACommandLineOverSeveralLines) {
  expect_settings("settings-text",
                  "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 src/train.py \\\n"
                  "    --stage sft --finetuning_type lora \\\n    --learning_rate 5e-5 --fp16 \\\n"
                  "    --gradient_accumulation_steps 4 --lora_target q_proj v_proj\n",
                  {{"env.visible_devices", "0,1"},
                   {"dist.procs_per_node", "2"},
                   {"optim.lr", "5e-05"},
                   {"precision.compute", "fp16"},
                   {"train.method", "sft"},
                   {"peft.targets", "q_proj,v_proj"}});
}

TEST(SettingsText, ReadsNotesInManyForms) {
  expect_settings("settings-text",
                  "- batch-size = 4\nlr: 2e-5\nwarmup: 100 steps\n| weight_decay | 0.1 |\n"
                  "optimizer.eps ....... 1e-6\n4 * A100-80G\n",
                  {{"batch.micro", "4"},
                   {"optim.lr", "2e-05"},
                   {"schedule.warmup_steps", "100"},
                   {"optim.weight_decay", "0.1"},
                   {"optim.eps", "1e-06"},
                   {"env.gpu", "NVIDIA A100 80GB"},
                   {"env.gpu_count", "4"}});
}

TEST(SettingsText, ReadsAStatedFalseAsFalse) {
  const auto found = expect_settings(
      "settings-text", "python t.py --bf16 False --gradient_checkpointing False --packing\n",
      {{"memory.gradient_checkpointing", "false"}, {"data.packing", "true"}});
  EXPECT_FALSE(found.contains("precision.compute"));
}

TEST(SettingsText, LeavesALogToTheLogReader) {
  EXPECT_EQ(test::chosen_reader("args.txt", "--lr 0.1\n"), "settings-text");
  EXPECT_EQ(test::chosen_reader("run.sh", "python train.py\n"), "settings-text");
  EXPECT_NE(
      test::chosen_reader("args.txt", "step 1 loss 2.31\nstep 2 loss 2.20\nstep 3 loss 2.11\n"),
      "settings-text");
  EXPECT_EQ(test::chosen_reader("reported.txt",
                                "My loss climbs and I do not know why.\n"
                                "step 1 loss 2.31\nstep 2 loss 2.20\nstep 3 loss 2.11\n"),
            "settings-text");
}

}  // namespace
}  // namespace aplomb::sources
