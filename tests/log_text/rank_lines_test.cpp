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

}  // namespace
}  // namespace aplomb::log_text
