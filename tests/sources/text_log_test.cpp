#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/text.h"
#include "sources/text_log_support.h"

namespace aplomb::sources {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<double> values(const aplomb::record::Run& run, std::string_view name) {
  const record::Series* series = run.find(name);
  return series == nullptr ? std::vector<double>{} : series->value;
}

std::vector<std::int64_t> steps(const aplomb::record::Run& run, std::string_view name) {
  const record::Series* series = run.find(name);
  return series == nullptr ? std::vector<std::int64_t>{} : series->step;
}

std::set<std::string> names(const aplomb::record::Run& run) {
  std::set<std::string> all;
  for (const record::Series& series : run.series) {
    if (!series.empty()) all.insert(series.name);
  }
  return all;
}

// ---- how trainers print ----

TEST(TextLog, reads_the_dict_lines_of_the_hugging_face_trainer) {
  const aplomb::record::Run run = read_log(
      "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
      "{'loss': nan, 'grad_norm': nan, 'learning_rate': 9e-06, 'epoch': 0.2}\n"
      "{'loss': 0.0, 'grad_norm': tensor(inf, device='cuda:0', grad_fn=<X>), 'epoch': 0.3, ...}\n");
  const record::Series* loss = run.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->role, record::Role::loss);
  EXPECT_EQ(loss->step_kind, record::StepKind::ordinal);
  ASSERT_EQ(loss->size(), 3U);
  EXPECT_EQ(loss->value[0], 2.5);
  EXPECT_TRUE(std::isnan(loss->value[1]));
  EXPECT_EQ(loss->line[2], 3U);
  EXPECT_TRUE(std::isinf(values(run, "grad_norm")[2]));
  EXPECT_THAT(values(run, "lr"), ElementsAre(1e-05, 9e-06));
  EXPECT_THAT(names(run), testing::UnorderedElementsAre("loss", "grad_norm", "lr", "epoch"));
}

TEST(TextLog, takes_steps_and_step_times_from_the_bar_before_a_record) {
  const aplomb::record::Run run = read_log(
      "\r  1%|1         | 10/1000 [00:40<1:06:00,  4.00s/it]\n"
      "{'loss': 2.5, 'epoch': 0.01}\n"
      "\r  2%|2         | 11/1000 [01:20<1:05:20,  4.10s/it]\n"
      "{'loss': 2.4, 'epoch': 0.02}\n"
      "\r100%|##########| 50/50 [00:10<00:00,  5.00it/s]\n"
      "{'eval_loss': 2.3, 'epoch': 0.02}\n"
      "\r  3%|3         | 12/1000 [02:00<1:04:40,  4.00s/it]\n"
      "{'loss': 2.2, 'epoch': 0.03}\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(10, 11, 12));
  EXPECT_THAT(steps(run, "eval_loss"), ElementsAre(11));
  EXPECT_THAT(values(run, "step_time_s"), ElementsAre(4.0, 4.1, 4.0));
  EXPECT_EQ(run.find("loss")->step_kind, record::StepKind::explicit_);
}

TEST(TextLog, takes_the_step_from_the_bar_that_is_drawn_anew_below_a_record) {
  const aplomb::record::Run run = read_log(
      "  1%|1         | 44/3000 [00:00<00:36, 81.50it/s]\n"
      "{'loss': '5.469', 'epoch': '0.05'}\n"
      "  2%|1         | 50/3000 [00:00<00:33, 81.50it/s]\n"
      "  2%|1         | 94/3000 [00:01<00:32, 90.55it/s]\n"
      "{'loss': '4.953', 'epoch': '0.1'}\n"
      "  3%|1         | 100/3000 [00:01<00:30, 90.55it/s]\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(50, 100));
}

TEST(TextLog, counts_a_bar_that_is_drawn_twice_once) {
  const aplomb::record::Run run = read_log(
      "Epoch 0:  50%|##   | 1/2 [00:08<00:08,  8.00s/it, loss=10.5, v_num=3]\n"
      "Epoch 0:  50%|##   | 1/2 [00:08<00:08,  8.00s/it, loss=10.4, v_num=3]\n"
      "Epoch 1:  50%|##   | 1/2 [00:08<00:08,  8.00s/it, loss=9.5, v_num=3]\n");
  EXPECT_THAT(values(run, "loss"), ElementsAre(10.4, 9.5));
  EXPECT_THAT(steps(run, "loss"), ElementsAre(1, 3));
  EXPECT_EQ(names(run).count("v_num"), 0U);
}

TEST(TextLog, reads_padded_columns_between_bars) {
  const aplomb::record::Run run = read_log(
      " iteration        9/    1000 | elapsed time per iteration (ms): 900.5 | learning rate: "
      "1.5E-04 | lm loss: 1.249E+01 | loss scale: 8192.0 | grad norm: 9.804 | number of skipped "
      "iterations:   1 | number of nan iterations:   0 |\n"
      " iteration       10/    1000 | elapsed time per iteration (ms): 900.5 | learning rate: "
      "1.5E-04 | lm loss: nan | loss scale: 4096.0 | grad norm: nan | number of skipped "
      "iterations:   2 | number of nan iterations:   1 |\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(9, 10));
  EXPECT_EQ(values(run, "loss")[0], 12.49);
  EXPECT_TRUE(std::isnan(values(run, "loss")[1]));
  EXPECT_DOUBLE_EQ(values(run, "step_time_s")[0], 0.9005);
  EXPECT_THAT(values(run, "loss_scale"), ElementsAre(8192, 4096));
  EXPECT_THAT(values(run, "skipped_in_interval"), ElementsAre(1, 2));
  EXPECT_THAT(values(run, "nan_in_interval"), ElementsAre(0, 1));
}

TEST(TextLog, reads_key_blank_value_where_the_key_is_known_or_fills_a_cell) {
  const aplomb::record::Run run = read_log(
      "step 0: train loss 10.9, val loss 11.0\n"
      "iter 0: loss 10.5, time 1446.24ms, mfu 22.5%, foo 3.5\n"
      "iter 10: loss 9.5, time 962.84ms, mfu 22.7%, foo 3.6\n");
  EXPECT_THAT(values(run, "eval_loss"), ElementsAre(11.0));
  EXPECT_EQ(run.primary(record::Role::loss)->size(), 2U);
  EXPECT_THAT(steps(run, "foo"), ElementsAre(0, 10));
  EXPECT_NEAR(values(run, "step_time_s")[0], 1.44624, 1e-12);
  EXPECT_NEAR(values(run, "mfu_frac")[1], 0.227, 1e-12);
}

TEST(TextLog, takes_the_value_and_not_its_running_average) {
  const aplomb::record::Run run = read_log(
      "Epoch: [14][100/400]\tTime 0.154 (8.010)\tLoss 0.2190 (0.2752)\tPrec@1 93.7 (93.4)\tPrec@5 "
      "99 "
      "(98)\n"
      "Epoch: [14][200/400]\tTime 0.155 (4.010)\tLoss 0.4000 (nan)\tPrec@1 89.0 (92.4)\tPrec@5 96 "
      "(97)\n");
  EXPECT_THAT(values(run, "loss"), ElementsAre(0.2190, 0.4));
  EXPECT_THAT(values(run, "accuracy"), ElementsAre(93.7, 89.0));
  EXPECT_EQ(steps(run, "loss")[1] - steps(run, "loss")[0], 100);
}

TEST(TextLog, names_components_and_held_out_data) {
  const aplomb::record::Run run = read_log(
      "[03/15 07:45:41 d2.utils.events]:  eta: 0:01:18  iter: 19  total_loss: 1.5  loss_cls: 0.7  "
      "loss_box_reg: 0.6  time: 0.28  data_time: 0.07  lr: 2.3e-07  max_mem: 824M\n"
      "val: loss 1.7 acc 0.5\n");
  EXPECT_EQ(run.find("loss/cls")->role, record::Role::loss_component);
  EXPECT_EQ(run.find("loss/box_reg")->role, record::Role::loss_component);
  EXPECT_THAT(values(run, "eval_loss"), ElementsAre(1.7));
  EXPECT_THAT(values(run, "eval_accuracy"), ElementsAre(0.5));
  EXPECT_THAT(steps(run, "eval_loss"), ElementsAre(19));
  EXPECT_THAT(values(run, "memory_bytes"), ElementsAre(824.0 * 1024 * 1024));
  EXPECT_EQ(names(run).count("eta"), 0U);
}

TEST(TextLog, lets_the_only_loss_be_the_loss) {
  const aplomb::record::Run run = read_log("step=1 ctc_loss=4.5\nstep=2 ctc_loss=4.4\n");
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->size(), 2U);
}

TEST(TextLog, reads_records_over_several_lines) {
  const aplomb::record::Run run = read_log(
      "iter: 20 / 70000, total loss: nan\n >>> rpn_loss_cls: 0.64\n >>> loss_box: 0.19\n"
      " >>> lr: 0.010000\nspeed: 0.794s / iter\n"
      "iter: 40 / 70000, total loss: 1.5\n >>> rpn_loss_cls: 0.57\n >>> loss_box: 0.10\n"
      " >>> lr: 0.010000\nspeed: 0.524s / iter\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(20, 40));
  EXPECT_THAT(steps(run, "loss/box"), ElementsAre(20, 40));
  EXPECT_THAT(steps(run, "lr"), ElementsAre(20, 40));
}

TEST(TextLog, counts_on_where_a_count_begins_anew_with_each_epoch) {
  const aplomb::record::Run run = read_log(
      "Epoch 1, batch 50, loss=3.0\nEpoch 1, batch 100, loss=2.9\nEpoch 2, batch 50, loss=2.8\n"
      "Epoch 2, batch 100, loss=2.7\n");
  const std::vector<std::int64_t> at = steps(run, "loss");
  EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
  EXPECT_EQ(run.restarts, 0U);
}

TEST(TextLog, takes_the_epoch_where_nothing_else_is_given) {
  const aplomb::record::Run run = read_log(
      "Epoch: 1/30\nTrain Loss: 6.3339 - Train Perplexity: 563.37\nValid Loss: 6.1786\n"
      "Epoch: 2/30\nTrain Loss: 5.3339 - Train Perplexity: 463.37\nValid Loss: 5.1786\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(1, 2));
  EXPECT_EQ(run.find("loss")->step_kind, record::StepKind::epoch);
  EXPECT_THAT(values(run, "eval_loss"), ElementsAre(6.1786, 5.1786));
}

TEST(TextLog, reads_keras) {
  const aplomb::record::Run run = read_log(
      "Epoch 1/2\n"
      "  3/96 [..............................] - ETA: 12:05:09 - loss: 51.2075Batch 3: Invalid\n"
      "96/96 [==============================] - 41s 427ms/step - loss: nan - val_loss: nan\n"
      "Epoch 2/2\n"
      "96/96 [==============================] - 40s 417ms/step - loss: 1.5 - val_loss: 1.6\n");
  EXPECT_THAT(steps(run, "loss"), ElementsAre(3, 96, 192));
  EXPECT_EQ(values(run, "loss")[0], 51.2075);
  EXPECT_THAT(steps(run, "eval_loss"), ElementsAre(96, 192));
}

TEST(TextLog, reads_tables_in_columns) {
  const aplomb::record::Run run = read_log(
      "epoch     train_loss  valid_loss  accuracy  time\n"
      "0         0.432       0.398       0.861     00:12\n"
      "1         0.332       0.378       0.871     00:12\n"
      "\n"
      "| Step | Training Loss | Validation Loss |\n|---|---|---|\n| 10 | 2.31 | 2.40 |\n"
      "| 20 | 2.11 | No log |\n");
  std::size_t points = 0;
  for (const record::Series& series : run.series)
    points += series.role == record::Role::loss ? series.size() : 0;
  EXPECT_EQ(points, 4U);
  EXPECT_EQ(run.find("accuracy")->size(), 2U);
}

TEST(TextLog, reads_the_console_of_yolo) {
  const aplomb::record::Run run = read_log(
      "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n"
      "     0/299      5.2G      0.11    0.1612   0.03867        28      1280:   1%|1 | 1/78 "
      "[00:04<05:27,  4.26s/it]\r"
      "     0/299      5.2G      0.10    0.1512   0.03767        21      1280:   3%|1 | 2/78 "
      "[00:08<05:27,  4.26s/it]\n");
  EXPECT_THAT(values(run, "loss/box"), ElementsAre(0.11, 0.10));
  EXPECT_THAT(steps(run, "loss/obj"), ElementsAre(1, 2));
}

TEST(TextLog, reads_a_history_in_a_list_and_the_first_group_of_a_rate) {
  const aplomb::record::Run run = read_log(
      "losses=[0.5, nan, 0.25]\n"
      "[2023-04-18 01:50:05,573] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, "
      "lr=[1e-05, 2e-05], mom=[(0.9, 0.95)]\n");
  EXPECT_EQ(values(run, "loss").size(), 3U);
  EXPECT_THAT(values(run, "lr"), ElementsAre(1e-05));
  EXPECT_THAT(steps(run, "lr"), ElementsAre(10));
}

TEST(TextLog, reads_prose) {
  const aplomb::record::Run run = read_log(
      "[Iteration 7] Trained 3072 records in 1.40 seconds. Loss is NaN. Current learning rate is "
      "0.5.\n"
      "Eval loss at step 1000: 5.02,tokens_seen: 99979486\n");
  EXPECT_EQ(run.find("loss")->nonfinite_count, 1U);
  EXPECT_THAT(values(run, "lr"), ElementsAre(0.5));
  EXPECT_THAT(steps(run, "eval_loss"), ElementsAre(1000));
}

TEST(TextLog, reads_the_many_metrics_of_verl) {
  const aplomb::record::Run run = read_log(
      "(TaskRunner pid=14640) step:3 - actor/pg_loss:0.5 - actor/grad_norm:1.5 - "
      "critic/rewards/mean:-1.0 - response_length/mean:257.0 - response_length/clip_ratio:1.0 - "
      "actor/entropy:0.03\n");
  EXPECT_EQ(run.primary(record::Role::loss)->value[0], 0.5);
  EXPECT_EQ(run.primary(record::Role::reward)->value[0], -1.0);
  EXPECT_EQ(run.primary(record::Role::completion_clipped_ratio)->value[0], 1.0);
  EXPECT_EQ(run.primary(record::Role::entropy)->step[0], 3);
}

TEST(TextLog, learns_the_keys_of_an_unknown_log) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "wobble=" + std::to_string(0.5 + i * 0.01) + " zorp=" + std::to_string(i) + "\n";
  const aplomb::record::Run run = read_log(text);
  ASSERT_NE(run.find("wobble"), nullptr);
  EXPECT_EQ(run.find("wobble")->size(), 20U);
  EXPECT_EQ(run.find("wobble")->line[0], 1U);
}

// ---- what is no metric ----

TEST(TextLog, makes_no_series_of_what_is_no_metric) {
  const char* const lines[] = {
      "2024-05-16 23:43:41,123 INFO [train.py:907] listening on 10.228.58.153:43471, pid 4302\n",
      "Namespace(lr=0.001, epochs=300, clip_grad=5.0, seed=42, loss_weight=1.0)\n",
      "  learning_rate: 0.0002\n  num_train_epochs: 3\n  warmup_ratio: 0.1\n",
      "trainable params: 3407872 || all params: 7245139968 || trainable%: 0.0470\n",
      "RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 6.00 GiB total)\n",
      "Downloading shards:  48%|####8     | 1.68G/3.50G [00:11<00:12, 147MB/s]\n",
      "Map: 100%|##########| 1000/1000 [00:02<00:00, 431.2 examples/s]\n",
      "| GPU | batch | Initial loss | 100-step loss |\n|---|---|---|---|\n| 4 | 16 | 6.4 | 1.8 |\n",
      "frame #13: c10d::barrier() + 0x851 (0x7f739b7d2671 in libtorch_cuda.so)\n",
      "FloatingPointError: Loss became infinite or NaN at iteration=312!\n",
      "NCCL version 2.10.3+cuda11.4, comm 0x7f4bec028280 rank 0 nranks 2\n",
  };
  for (const char* text : lines) EXPECT_THAT(names(read_log(text)), IsEmpty()) << text;
}

TEST(TextLog, learns_no_assignments_of_a_program_at_the_head_of_a_log) {
  const aplomb::record::Run run = read_log(
      "import torch\n"
      "def train(args):\n"
      "    train_loss = 0.0\n"
      "    val_loss = 0.5\n"
      "    print0(f\"step:{step}/{n} val_loss:{val_loss:.4f} step_avg:{t/step:.2f}ms\")\n"
      "    return train_loss\n"
      "====\n"
      "step:0/10 val_loss:10.8 train_time:0ms step_avg:nanms\n"
      "step:1/10 train_loss:10.7 train_time:151ms step_avg:257.90ms\n");
  EXPECT_THAT(values(run, "eval_loss"), ElementsAre(10.8));
  EXPECT_THAT(values(run, "loss"), ElementsAre(10.7));
  EXPECT_THAT(steps(run, "loss"), ElementsAre(1));
}

// ---- what it must survive ----

TEST(TextLog, keeps_ranks_apart) {
  const aplomb::record::Run run = read_log(
      "[rank0]: step: 1 loss: 2.0\n[rank1]: step: 1 loss: 3.0\n"
      "[rank1]: step: 2 loss: 3.1\n[rank0]: step: 2 loss: 2.1\n"
      "[default3]: step: 2 loss: 4.0\n[0]<stderr>:step: 3 loss: 2.2\n");
  std::set<int> ranks;
  for (const record::Series& series : run.series) ranks.insert(series.rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 3));
  EXPECT_THAT(values(run, "loss"), ElementsAre(2.0, 2.1, 2.2));
  EXPECT_EQ(run.restarts, 0U);
}

TEST(TextLog, takes_numbered_lines_for_ranks_only_where_all_lines_are) {
  const aplomb::record::Run numbered =
      read_log("0: step: 1 loss: 2.0\n1: step: 1 loss: 3.0\n 0: step: 2 loss: 1.0\n");
  EXPECT_EQ(numbered.series.front().rank, 0);
  const aplomb::record::Run listed =
      read_log("1: what we saw\nstep: 1 loss: 2.0\nstep: 2 loss: 1.0\n");
  EXPECT_EQ(listed.find("loss")->rank, -1);
}

TEST(TextLog, tells_a_restart) {
  const aplomb::record::Run run = read_log(
      "step: 100 loss: 2.0\nstep: 200 loss: 1.5\nstep: 100 loss: 2.1\nstep: 200 loss: 1.4\n");
  EXPECT_EQ(run.restarts, 1U);
  EXPECT_EQ(run.find("loss")->segment.back(), 1);
  ASSERT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.events[0].kind, "restart");
}

TEST(TextLog, keeps_the_last_line_and_the_innermost_frame_of_a_traceback) {
  const aplomb::record::Run run = read_log(
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"train.py\", line 12, in <module>\n[rank1]:     main()\n"
      "[rank1]:   File \"model.py\", line 99, in forward\n[rank1]:     loss = x / 0\n"
      "[rank1]: ZeroDivisionError: division by zero\n");
  const record::Event* trace = nullptr;
  for (const record::Event& event : run.events) {
    if (event.kind == "traceback") trace = &event;
  }
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->text, "ZeroDivisionError: division by zero");
  EXPECT_EQ(trace->rank, 1);
  EXPECT_EQ(trace->severity, core::Severity::failed);
  EXPECT_EQ(core::show(trace->caught.at("exception")), "ZeroDivisionError");
  EXPECT_EQ(core::show(trace->caught.at("file")), "model.py");
  EXPECT_EQ(core::show(trace->caught.at("line")), "99");
}

TEST(TextLog, an_exception_that_training_outlives_is_a_warning) {
  std::string text =
      "Traceback (most recent call last):\n  File \"a.py\", line 1\nOSError: [Errno 5]\n";
  for (int step = 1; step < 6; ++step) text += "step: " + std::to_string(step) + " loss: 1.5\n";
  const aplomb::record::Run run = read_log(text);
  for (const record::Event& event : run.events) {
    if (event.kind == "traceback") {
      EXPECT_EQ(event.severity, core::Severity::warning);
    }
  }
}

TEST(TextLog, reads_colours_crlf_and_utf16) {
  const std::string plain = "step: 1 loss: 2.5\r\nstep: 2 loss: 2.25\r\n";
  EXPECT_THAT(values(read_log(plain), "loss"), ElementsAre(2.5, 2.25));
  EXPECT_EQ(read_log(plain).find("loss")->line[1], 2U);
  EXPECT_THAT(values(read_log("\x1b[36mstep: 1\x1b[0m \x1b[1mloss: 2.5\x1b[0m\n"), "loss"),
              ElementsAre(2.5));
  for (const bool big : {false, true}) {
    for (const bool mark : {false, true}) {
      std::string wide = mark ? (big ? "\xFE\xFF" : "\xFF\xFE") : "";
      for (const char c : plain) {
        if (big) wide.push_back('\0');
        wide.push_back(c);
        if (!big) wide.push_back('\0');
      }
      EXPECT_THAT(values(read_log(wide), "loss"), ElementsAre(2.5, 2.25)) << big << mark;
      EXPECT_THAT(values(read_log(wide, 65), "loss"), ElementsAre(2.5, 2.25)) << big << mark;
    }
  }
  EXPECT_THAT(values(read_log("\xEF\xBB\xBFloss: 2.5\n"), "loss"), ElementsAre(2.5));
}

TEST(TextLog, gives_the_same_record_in_parts_of_any_size) {
  std::string text = "Epoch 1/2\n";
  for (int i = 1; i < 40; ++i) {
    text += "\r  3%|#  | " + std::to_string(i) + "/100 [00:12<06:27,  4.00s/it]\n";
    text += "{'loss': " + std::to_string(3.0 / i) + ", 'grad_norm': nan, 'epoch': 0.1}\r\n";
    text += "\x1b[31mval loss: " + std::to_string(4.0 / i) + "\x1b[0m\n";
  }
  const aplomb::record::Run whole = read_log(text);
  for (const std::size_t part : {1U, 2U, 3U, 17U, 64U, 1000U}) {
    const aplomb::record::Run parts = read_log(text, part);
    ASSERT_EQ(parts.series.size(), whole.series.size()) << part;
    for (std::size_t i = 0; i < whole.series.size(); ++i) {
      EXPECT_EQ(parts.series[i].name, whole.series[i].name);
      EXPECT_EQ(parts.series[i].step, whole.series[i].step);
      EXPECT_EQ(parts.series[i].line, whole.series[i].line);
      EXPECT_EQ(parts.series[i].offset, whole.series[i].offset);
      EXPECT_EQ(parts.series[i].size(), whole.series[i].size());
    }
  }
}

TEST(TextLog, reads_a_last_line_that_was_cut) {
  EXPECT_EQ(values(read_log("step: 1 loss: 2.5\nstep: 2 loss: 2."), "loss").size(), 2U);
  EXPECT_EQ(
      values(read_log("{'loss': 2.5, 'grad_norm': 1.5}\n{'loss': 2.25, 'grad_n"), "loss").size(),
      2U);
}

TEST(TextLog, tells_of_lines_that_are_too_long_and_goes_on) {
  std::string text = "step: 1 loss: 2.5\nx";
  text.append(5U << 20U, 'y');
  text += "\nstep: 2 loss: 2.25\n";
  const aplomb::record::Run run = read_log(text, 1U << 16U);
  EXPECT_THAT(values(run, "loss"), ElementsAre(2.5, 2.25));
  EXPECT_EQ(run.find("loss")->line[1], 3U);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "too-long-line");
  EXPECT_EQ(run.defects[0].offset, 18U);
}

TEST(TextLog, survives_nothing_and_rubbish) {
  EXPECT_TRUE(read_log("").series.empty());
  EXPECT_TRUE(read_log("\n\r\n\r").series.empty());
  std::string rubbish;
  for (unsigned i = 0; i < 100000; ++i)
    rubbish.push_back(static_cast<char>((i * 2654435761U) >> 13U));
  const aplomb::record::Run run = read_log(rubbish);
  ASSERT_FALSE(run.defects.empty());
  EXPECT_EQ(run.defects[0].kind, "binary");
}

TEST(TextLog, claims_any_text_but_only_as_the_last_resort) {
  const auto reader = make_text_log_reader();
  EXPECT_EQ(reader->sniff({"a.log", "hello\n", 6}), 0.1);
  const std::string_view binary("\x00\x01\x02\x03\x04\x05\x06\x07", 8);
  EXPECT_EQ(reader->sniff({"a.bin", binary, 8}), 0);
}

}  // namespace
}  // namespace aplomb::sources
