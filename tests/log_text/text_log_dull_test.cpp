#include "log_text/dull.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sources/text_log_support.h"

namespace aplomb::log_text {
namespace {

TEST(DullLines, KnowLinesThatDifferInTheValuesOfDigitsOnly) {
  DullLines dull;
  EXPECT_FALSE(dull.knows("12:00:01 worker 3 fetched shard-00007"));
  dull.note("12:00:01 worker 3 fetched shard-00007");
  EXPECT_TRUE(dull.knows("12:59:30 worker 9 fetched shard-01234"));
  EXPECT_FALSE(dull.knows("12:59:30 worker 9 fetched shard-012345"));
  EXPECT_FALSE(dull.knows("12:59:30 worker x fetched shard-01234"));
  EXPECT_FALSE(dull.knows("12:59:30 worker 9 fetched shard-0123:"));
  EXPECT_FALSE(dull.knows("12:59:30 worker 9 fetched shard-0123/"));
  EXPECT_FALSE(dull.knows(""));
}

TEST(DullLines, LeaveLongLinesAlone) {
  DullLines dull;
  const std::string longer(DullLines::k_longest + 1, 'x');
  dull.note(longer);
  EXPECT_FALSE(dull.knows(longer));
}

/// Lines of numbers say nothing until a head names their columns.
TEST(DullLines, AreLookedAtAgainBelowTheHeadOfATable) {
  std::string log;
  for (int i = 0; i < 3000; ++i)
    log += fmt::format("{}     0.{:03}       0.398       00:12\n", i % 10, i % 1000);
  const std::size_t before = sources::read_log(log).series.size();
  log += "epoch     train_loss  valid_loss  time\n";
  for (int i = 0; i < 5; ++i)
    log += fmt::format("{}     0.{:03}       0.398       00:12\n", i, 900 - i);
  const aplomb::record::Run run = sources::read_log(log);
  EXPECT_EQ(before, 0U);
  const record::Series* loss = run.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->size(), 5U);
}

TEST(DullLines, HideNoErrorBehindThem) {
  std::string log;
  for (int i = 0; i < 3000; ++i)
    log += fmt::format("worker {} fetched shard-{:05}.tar\n", i % 10, i);
  log += "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n";
  log += "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const aplomb::record::Run run = sources::read_log(log);
  bool found = false;
  for (const record::Event& event : run.events) found = found || event.kind == "cuda-oom";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace aplomb::log_text
