#include <gtest/gtest.h>

#include "sources/reader_support.h"
#include "sources/setting_support.h"

namespace aplomb::sources {
namespace {

using test::expect_settings;

TEST(PythonConfig, ReadsAssignmentsOfNanoGpt) {
  const auto found =
      expect_settings("python-config",
                      "batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n"
                      "learning_rate: float = 6e-4  # max\ndtype = 'float16'\nwarmup_iters = 2000\n"
                      "min_lr = learning_rate / 10\n",
                      {{"batch.accumulation", "40"},
                       {"optim.lr", "0.0006"},
                       {"precision.compute", "fp16"},
                       {"data.max_length", "1024"}});
  EXPECT_FALSE(found.contains("schedule.min_lr"));
}

TEST(PythonConfig, ReadsNestedDictsOfOpenMmLab) {
  expect_settings("python-config",
                  "optim_wrapper = dict(\n    type='AmpOptimWrapper',\n"
                  "    optimizer=dict(type='SGD', lr=0.02, momentum=0.9),\n"
                  "    clip_grad=dict(max_norm=35, norm_type=2))\n"
                  "train_dataloader = dict(batch_size=2, num_workers=4)\n",
                  {{"optim.lr", "0.02"},
                   {"optim.grad_clip", "35"},
                   {"optim.name", "sgd"},
                   {"data.workers", "4"},
                   {"precision.compute", "fp16"}});
}

TEST(PythonConfig, ReadsKeywordsOfCallsByTheirClass) {
  expect_settings("python-config",
                  "model = AutoModelForCausalLM.from_pretrained('m', torch_dtype=torch.bfloat16,\n"
                  "                                             device_map='auto')\n"
                  "args = GRPOConfig(\n    learning_rate=1e-6,\n    num_generations=8, beta=0.04,\n"
                  "    max_completion_length=256,\n)\n"
                  "loader = DataLoader(data, 16, shuffle=True, num_workers=0)\n"
                  "optimizer = torch.optim.Adam(model.parameters(), 3e-4, eps=1e-8)\n"
                  "# optimizer = torch.optim.SGD(model.parameters(), lr=9)\n",
                  {{"precision.params", "bf16"},
                   {"dist.device_map", "auto"},
                   {"rl.num_generations", "8"},
                   {"rl.beta", "0.04"},
                   {"batch.micro", "16"},
                   {"data.workers", "0"},
                   {"optim.lr", "0.0003"},
                   {"optim.eps", "1e-08"}});
}

TEST(PythonConfig, KnowsItsOwn) {
  EXPECT_EQ(test::chosen_reader("train.py", "import torch\nlr = 0.1\n"), "python-config");
}

}  // namespace
}  // namespace aplomb::sources
