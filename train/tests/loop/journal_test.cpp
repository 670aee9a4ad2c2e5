#include "train/loop/journal.h"

#include <aplomb/diagnose.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/folder.h"
#include "discovery/collect.h"
#include "record/run.h"

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

Record record_at(std::int64_t step, double loss) {
  Record record;
  record.step = step;
  record.loss = loss;
  record.grad_norm = 0.5 + 0.01 * static_cast<double>(step);
  record.lr = 1e-4;
  record.epoch = 0.1 * static_cast<double>(step);
  record.tokens_per_s = 1234;
  record.host_memory_bytes = 5e8;
  return record;
}

void write_run(const std::string& folder, std::int64_t first, std::int64_t last,
               std::int64_t resumed = -1) {
  auto journal = Journal::open({folder, true, true, 40, resumed});
  ASSERT_TRUE(journal) << journal.error().text;
  for (std::int64_t step = first; step <= last; ++step)
    journal->record(record_at(step, 3.0 - 0.02 * static_cast<double>(step)));
}

TEST(Journal, EveryFileOfItReadsBackAsTheSameSeries) {
  const test::Folder folder;
  write_run(folder / "run", 1, 40);
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run")) {
    const auto runs = discovery::collect({entry.path().string()}, {});
    ASSERT_EQ(runs.size(), 1U) << entry.path();
    EXPECT_TRUE(runs[0].defects.empty()) << entry.path() << runs[0].defects[0].text;
    for (const auto& [role, last] : {std::pair{record::Role::loss, 2.2},
                                     {record::Role::grad_norm, 0.9},
                                     {record::Role::lr, 1e-4},
                                     {record::Role::tokens_per_s, 1234.0}}) {
      const record::Series* series = runs[0].primary(role);
      ASSERT_NE(series, nullptr) << entry.path() << " " << name(role);
      EXPECT_EQ(series->count, 40U) << entry.path() << " " << name(role);
      EXPECT_NEAR(series->value.back(), last, 1e-3 * last) << entry.path();
      EXPECT_EQ(series->step[0], 1) << entry.path();
    }
    ++read;
  }
  EXPECT_EQ(read, 3);  // train.log, metrics.jsonl, the event file
}

TEST(Journal, ResumeKeepsWhatWasBeforeTheCheckpointAndAppendsToTheLog) {
  const test::Folder folder;
  write_run(folder / "run", 1, 20);
  {
    std::ofstream torn(folder / "run/metrics.jsonl", std::ios::app);
    torn << R"({"step": 21, "loss": 2.)";  // killed inside a write
  }
  auto journal = Journal::open({folder / "run", false, true, 40, 15});
  ASSERT_TRUE(journal) << journal.error().text;
  ASSERT_EQ(journal->earlier().size(), 15U);
  EXPECT_EQ(journal->earlier().back().step, 15);
  EXPECT_DOUBLE_EQ(*journal->earlier().back().loss, 2.7);
  journal->record(record_at(16, 2.68));
  const std::string metrics = test::content(folder / "run/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 16);
  EXPECT_THAT(test::content(folder / "run/train.log"), HasSubstr("step 20/40"));
}

TEST(Journal, ThatWaitsTouchesNothingOfAnEarlierRunBeforeItBegins) {
  const test::Folder folder;
  write_run(folder / "run", 1, 20);
  const std::string log = test::content(folder / "run/train.log");
  const std::string metrics = test::content(folder / "run/metrics.jsonl");
  const JournalOptions waits{.folder = folder / "run",
                             .total_steps = 40,
                             .resumed_step = 15,
                             .silent = true,
                             .waits = true};
  {
    auto refused = Journal::open(waits);
    ASSERT_TRUE(refused) << refused.error().text;
    EXPECT_FALSE(refused->has_begun());
    refused->warn("the weights are missing");
    EXPECT_EQ(refused->earlier().size(), 15U);
  }
  EXPECT_EQ(test::content(folder / "run/train.log"), log);
  EXPECT_EQ(test::content(folder / "run/metrics.jsonl"), metrics);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "run"), {}), 3);
  auto resumed = Journal::open(waits);
  ASSERT_TRUE(resumed);
  resumed->note("said before");
  ASSERT_TRUE(resumed->begin());
  resumed->note("said after");
  EXPECT_EQ(test::content(folder / "run/train.log"), log + "said before\nsaid after\n");
  const std::string cut = test::content(folder / "run/metrics.jsonl");
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), 15);
}

TEST(Journal, ThatWaitsBeginsAtOnceInAFolderOfItsOwn) {
  const test::Folder folder;
  auto journal = Journal::open(
      {.folder = folder / "run", .tensorboard = false, .silent = true, .waits = true});
  ASSERT_TRUE(journal);
  journal->note("refused: it does not fit");
  EXPECT_EQ(test::content(folder / "run/train.log"), "refused: it does not fit\n");
}

TEST(Journal, NonFiniteNumbersSurviveTheWayThroughTheFile) {
  const test::Folder folder;
  {
    auto journal = Journal::open({folder / "run", true, true, 3, -1});
    ASSERT_TRUE(journal);
    Record record = record_at(1, k_nan);
    record.grad_norm = std::numeric_limits<double>::infinity();
    journal->record(record);
  }
  EXPECT_THAT(test::content(folder / "run/metrics.jsonl"), HasSubstr("\"loss\": NaN"));
  auto journal = Journal::open({folder / "run", false, true, 3, 1});
  ASSERT_TRUE(journal);
  ASSERT_EQ(journal->earlier().size(), 1U);
  EXPECT_TRUE(std::isnan(*journal->earlier()[0].loss));
  EXPECT_TRUE(std::isinf(*journal->earlier()[0].grad_norm));
  const auto runs = discovery::collect({folder / "run/train.log"}, {});
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_NE(runs[0].primary(record::Role::loss), nullptr);
  EXPECT_EQ(runs[0].primary(record::Role::loss)->nonfinite_count, 1U);
}

TEST(Journal, APlaceThatCannotBeWrittenIsToldWithItsName) {
  const auto journal = Journal::open({"/proc/no-such-folder", true, true, 3, -1});
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().text, HasSubstr("/proc/no-such-folder"));
}

}  // namespace
}  // namespace aplomb::train::loop
