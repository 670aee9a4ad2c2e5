#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

using test::settings_of;

TEST(SettingsText, ReadsACommandLineOverSeveralLines) {
  const auto found =
      settings_of("settings-text",
                  "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 src/train.py \\\n"
                  "    --stage sft --finetuning_type lora \\\n    --learning_rate 5e-5 --fp16 \\\n"
                  "    --gradient_accumulation_steps 4 --lora_target q_proj v_proj\n");
  EXPECT_EQ(found.at("env.visible_devices"), "0,1");
  EXPECT_EQ(found.at("dist.procs_per_node"), "2");
  EXPECT_EQ(found.at("optim.lr"), "5e-05");
  EXPECT_EQ(found.at("precision.compute"), "fp16");
  EXPECT_EQ(found.at("train.method"), "sft");
  EXPECT_EQ(found.at("peft.targets"), "q_proj,v_proj");
}

TEST(SettingsText, ReadsNotesInManyForms) {
  const auto found =
      settings_of("settings-text",
                  "- batch-size = 4\nlr: 2e-5\nwarmup: 100 steps\n| weight_decay | 0.1 |\n"
                  "optimizer.eps ....... 1e-6\n4 * A100-80G\n");
  EXPECT_EQ(found.at("batch.micro"), "4");
  EXPECT_EQ(found.at("optim.lr"), "2e-05");
  EXPECT_EQ(found.at("schedule.warmup_steps"), "100");
  EXPECT_EQ(found.at("optim.weight_decay"), "0.1");
  EXPECT_EQ(found.at("optim.eps"), "1e-06");
  EXPECT_EQ(found.at("env.gpu"), "NVIDIA A100 80GB");
  EXPECT_EQ(found.at("env.gpu_count"), "4");
}

TEST(SettingsText, ReadsAStatedFalseAsFalse) {
  const auto found = settings_of(
      "settings-text", "python t.py --bf16 False --gradient_checkpointing False --packing\n");
  EXPECT_FALSE(found.contains("precision.compute"));
  EXPECT_EQ(found.at("memory.gradient_checkpointing"), "false");
  EXPECT_EQ(found.at("data.packing"), "true");
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
