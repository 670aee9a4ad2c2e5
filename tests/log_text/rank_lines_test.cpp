#include "log_text/rank_lines.h"

#include <gtest/gtest.h>

namespace aplomb::log_text {
namespace {

class Job {
 public:
  Job() : build_(run_), source_(build_.open("train.log", "text-log", 0)) {}
  Job& says(int rank, const std::string& text) {
    ++line_;
    lines_.line(text, rank, line_, line_ * 80);
    return *this;
  }
  Job& prints(const std::string& text) {
    ++line_;
    lines_.worded(text, line_, line_ * 80);
    return *this;
  }
  const record::Run& run() const { return run_; }
  const record::Event* event() {
    lines_.finish(build_, source_);
    return run_.events.empty() ? nullptr : &run_.events.front();
  }

 private:
  record::Run run_;
  record::RunBuilder build_;
  record::SourceId source_;
  RankLines lines_;
  std::uint64_t line_ = 0;
};

bool caught(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  return found != event.caught.end() && core::is_true(found->second);
}

TEST(RankLines, ARankThatHasSavedOnceMoreThanTheOthers) {
  Job job;
  for (int step = 50; step <= 250; step += 50) {
    job.says(0, "step " + std::to_string(step) + " loss 1.5");
    job.says(0, "step " + std::to_string(step) + " new best 1.5, saving");
    job.says(1, "step " + std::to_string(step) + " new best 1.4, saving");
  }
  job.says(0, "step 300 loss 0.39").says(1, "step 300 new best 0.3524, saving");
  const record::Event* alone = job.event();
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->rank, 1);
  EXPECT_TRUE(caught(*alone, "saves"));
  EXPECT_FALSE(caught(*alone, "ends_pass"));
}

TEST(RankLines, ARankThatHasEndedItsPass) {
  Job job;
  for (int step = 0; step <= 60; step += 10) {
    job.says(0, "epoch 0 step " + std::to_string(step) + " loss 0.9");
    job.says(1, "epoch 0 step " + std::to_string(step) + " loss 0.8");
  }
  job.says(1, "epoch 0 done after 66 steps");
  const record::Event* alone = job.event();
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->rank, 1);
  EXPECT_TRUE(caught(*alone, "ends_pass"));
}

TEST(RankLines, RanksThatEndAlikeAndOneThatSpeaksForAllSayNothing) {
  Job alike;
  for (int step = 0; step < 50; step += 10) {
    alike.says(0, "step " + std::to_string(step) + " loss 0.9");
    alike.says(1, "step " + std::to_string(step) + " loss 0.8");
  }
  alike.says(0, "done").says(1, "done");
  EXPECT_EQ(alike.event(), nullptr);
  Job single;
  for (int step = 0; step < 50; step += 10) single.says(0, "step " + std::to_string(step));
  EXPECT_EQ(single.event(), nullptr);
  Job chatter;
  for (int step = 0; step < 50; step += 10) {
    chatter.says(0, "step " + std::to_string(step) + " loss 0.9");
    chatter.says(1, "step " + std::to_string(step) + " waits 3 ms");
  }
  EXPECT_EQ(chatter.event(), nullptr);
}

const record::Event* of_kind(const record::Run& run, const std::string& kind) {
  for (const record::Event& event : run.events) {
    if (event.kind == kind) return &event;
  }
  return nullptr;
}

TEST(RankLines, WeightsOfRanksThatDriftApart) {
  Job job;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const std::string head = "ep " + std::to_string(epoch) + " val acc 0.71  |w| ";
    job.says(0, head + std::to_string(8.25 + 0.4 * epoch));
    job.says(1, head + std::to_string(8.24 + 0.3 * epoch));
  }
  job.event();
  const record::Event* event = of_kind(job.run(), "ranks-apart");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->text.find("the weights of rank 0 and rank 1 differ"), 0U) << event->text;
}

TEST(RankLines, RanksThatStandWithinTheLineOrSideBySide) {
  Job within;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::string head = "epoch " + std::to_string(epoch) + " rank ";
    within.prints(head + "0: loss 1.06 acc 0.74 per class 0.92 0.96 | weight norm 7.3" +
                  std::to_string(epoch));
    within.prints(head + "1: loss 1.23 acc 0.67 per class 0.00 0.00 | weight norm 7.2" +
                  std::to_string(epoch));
  }
  within.event();
  EXPECT_NE(of_kind(within.run(), "ranks-apart"), nullptr);
  Job beside;
  for (int epoch = 0; epoch < 3; ++epoch)
    beside.prints("epoch 1  r0: loss 0.33 |w| 18.7478  r1: loss 0.34 |w| 18.7201");
  beside.event();
  EXPECT_NE(of_kind(beside.run(), "ranks-apart"), nullptr);
  Job alike;
  for (int epoch = 0; epoch < 3; ++epoch)
    alike.prints("epoch 1  r0: loss 0.33 |w| 18.7478  r1: loss 0.34 |w| 18.7478");
  alike.event();
  EXPECT_EQ(of_kind(alike.run(), "ranks-apart"), nullptr);
}

TEST(RankLines, WeightsThatAgreeAndLossesAndGradientsThatDoNot) {
  Job job;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string number = std::to_string(epoch);
      job.says(rank, "step " + number + " param norm 8.25" + number + " loss 1." +
                         std::to_string(3 + rank) + " grad norm 0." + std::to_string(4 + rank));
    }
  }
  job.event();
  EXPECT_EQ(of_kind(job.run(), "ranks-apart"), nullptr);
  EXPECT_EQ(of_kind(job.run(), "ranks-uneven"), nullptr);
}

TEST(RankLines, UnlikeNumbersOfSamples) {
  Job job;
  job.says(0, "735 records from part-0.jsonl").says(1, "701 records from part-1.jsonl");
  job.event();
  const record::Event* event = of_kind(job.run(), "ranks-uneven");
  ASSERT_NE(event, nullptr);
  Job progress;  // a rank that is ahead has no more data
  for (int at = 1; at < 6; ++at) {
    progress.says(0, "seen " + std::to_string(at * 100) + " samples");
    progress.says(0, "seen " + std::to_string(at * 100 + 50) + " samples");
    progress.says(1, "seen " + std::to_string(at * 100) + " samples");
  }
  progress.event();
  EXPECT_EQ(of_kind(progress.run(), "ranks-uneven"), nullptr);
}

void wait(Job& job, const char* first, const char* second, const char* exception) {
  for (int step = 5; step <= 125; step += 5) {
    job.says(0, "epoch 0 step " + std::to_string(step) + " loss 1.5");
    job.says(1, "epoch 0 step " + std::to_string(step) + " loss 1.4");
  }
  job.says(1, "epoch 0 done after 129 steps, val_mse 0.4988");
  for (const int rank : {0, 1}) {
    job.says(rank, "Traceback (most recent call last):")
        .says(rank, "  File \"train.py\", line 79, in <module>")
        .says(rank, "    main()")
        .says(rank, "  File \"train.py\", line 62, in main")
        .says(rank, std::string("    ") + (rank == 0 ? first : second))
        .says(rank, "    ^^^^^^^^^^")
        .says(rank, exception);
  }
}

constexpr const char* k_out_of_time =
    "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 20000ms for recv";

TEST(RankLines, ARankThatDecidesAloneToStop) {
  Job job;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int rank = 0; rank < 2; ++rank)
      job.says(rank, "epoch " + std::to_string(epoch) + " val_loss 0.5");
  }
  job.says(0, "early stopping at epoch 4");
  const record::Event* alone = job.event();
  ASSERT_NE(alone, nullptr);
  EXPECT_TRUE(caught(*alone, "stops"));
}

TEST(RankLines, RanksThatRanOutOfTimeInDifferentStatements) {
  Job job;
  wait(job, "loss.backward()", "dist.barrier()", k_out_of_time);
  const record::Event* apart = job.event();
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(apart->kind, "ranks-wait-apart");
  EXPECT_EQ(apart->text, "rank 0 waits in loss.backward(), rank 1 in dist.barrier()");
  EXPECT_TRUE(caught(*apart, "one_trains"));
  // The line before the tracebacks still tells who went ahead.
  ASSERT_EQ(job.run().events.size(), 2U);
  EXPECT_EQ(job.run().events[1].kind, "rank-alone");
  EXPECT_TRUE(caught(job.run().events[1], "ends_pass"));
}

TEST(RankLines, RanksThatWaitInOneStatementOrFailDoNotWaitApart) {
  Job same;
  wait(same, "loss.backward()", "loss.backward()", k_out_of_time);
  Job failed;
  wait(failed, "loss.backward()", "dist.barrier()", "ValueError: no such column");
  for (Job* job : {&same, &failed}) {
    const record::Event* first = job->event();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->kind, "rank-alone");
  }
}

TEST(RankLines, TwoStatementsOfReductionAreNoStepOfTraining) {
  Job job;
  wait(job, "dist.all_reduce(total)", "dist.barrier()", k_out_of_time);
  const record::Event* apart = job.event();
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(apart->kind, "ranks-wait-apart");
  EXPECT_FALSE(caught(*apart, "one_trains"));
}

}  // namespace
}  // namespace aplomb::log_text
