#include "store/store.h"
#include "store/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "core/folder.h"

namespace aplomb::store {
namespace {

using test::Folder;
using ::testing::HasSubstr;

PastRun run_of(const std::string& program, double began, const std::string& verdict, double lr) {
  PastRun run;
  run.origin = "run";
  run.program = program;
  run.name = "/data/out/" + std::to_string(static_cast<int>(began));
  run.paths = {run.name + "/output.log"};
  run.began = began;
  run.ended = began + 60;
  run.status = verdict == "healthy" ? 0 : 1;
  run.verdict = verdict;
  run.headline = "the headline of " + verdict;
  run.steps = 100;
  run.settings = {{"optim.lr", lr > 0.005 ? "0.01" : "0.001"}, {"optim.name", "adamw"}};
  run.environment = {{"env.torch", "2.13.0"}};
  run.lead_path = run.paths.front();
  run.lead_first = "1 2.5";
  run.lead_last = "100 " + verdict;
  run.kinds = "text-log";
  if (verdict == "healthy") return run;
  run.is_answered = true;
  run.causes = {{"nan.lr-too-high", "The learning rate is too high", 0.9}};
  run.symptoms = {{"loss.nonfinite", "failed", 40, 100, "loss is nan from step 40"},
                  {"grad-norm.level", "note", 1, 100, "a note"}};
  run.series = {{"loss", "loss", 100, {{1, 2.5}, {40, std::numeric_limits<double>::quiet_NaN()}}}};
  return run;
}

Store opened(const std::string& path) {
  auto store = Store::open(path, Store::Access::write);
  EXPECT_TRUE(store) << store.error().text;
  return *std::move(store);
}

/// Has the file opened and changed by SQL, as another program or a fault would.
void change(const std::string& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

TEST(Store, KeepsARunAsItWasTold) {
  const Folder folder;
  Store store = opened(folder / "deep/runs.db");
  const PastRun told = run_of("train.py", 1000, "failed", 0.01);
  const auto id = store.add(told);
  ASSERT_TRUE(id) << id.error().text;
  const auto kept = store.find(id->substr(0, 5));
  ASSERT_TRUE(kept) << kept.error().text;
  EXPECT_EQ(kept->settings, told.settings);
  EXPECT_EQ(kept->environment, told.environment);
  EXPECT_EQ(kept->paths, told.paths);
  EXPECT_EQ(kept->status, 1);
  ASSERT_EQ(kept->series.size(), 1U);
  EXPECT_EQ(kept->series[0].chart[0].value, 2.5);
  EXPECT_TRUE(std::isnan(kept->series[0].chart[1].value));
  EXPECT_EQ(kept->symptoms.size(), 2U);
  EXPECT_THAT(kept->host, ::testing::StartsWith("host-"));
  EXPECT_EQ(store.find("zz").error().code, core::ErrorCode::not_found);
}

TEST(Store, IsForItsUserAlone) {
  const Folder folder;
  Store store = opened(folder / "made/runs.db");
  ASSERT_TRUE(store.add(run_of("train.py", 1000, "failed", 0.01)));
  const auto rights = [](const std::string& path) {
    struct stat about{};
    EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 0777U;
  };
  EXPECT_EQ(rights(folder / "made"), 0700U);
  ASSERT_TRUE(make_private_folder(folder / "data/aplomb/under-way"));
  ASSERT_TRUE(make_private_folder(folder / "data/aplomb/under-way/"));
  for (const char* each : {"data", "data/aplomb", "data/aplomb/under-way"})
    EXPECT_EQ(rights(folder / each), 0700U) << each;
  folder.write("file", "x");
  EXPECT_FALSE(make_private_folder(folder / "file/below"));
  for (const char* each : {"made/runs.db", "made/runs.db-wal", "made/runs.db-shm"})
    EXPECT_EQ(rights(folder / each), 0600U) << each;
}

TEST(Store, SaysWhatWasChangedAndWhetherItHelped) {
  const Folder folder;
  Store store = opened(folder / "runs.db");
  const auto bad = store.add(run_of("train.py", 1000, "failed", 0.01));
  ASSERT_TRUE(store.add(run_of("other.py", 1500, "healthy", 0.3)));
  const auto good = store.add(run_of("train.py", 2000, "healthy", 0.001));
  ASSERT_TRUE(bad && good);
  const auto kept = store.find(*good);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->previous, *bad);
  ASSERT_EQ(kept->changed.size(), 1U);
  EXPECT_EQ(kept->changed[0].name, "optim.lr");
  EXPECT_EQ(kept->changed[0].before, "0.01");
  EXPECT_EQ(kept->changed[0].after, "0.001");
  EXPECT_EQ(kept->helped, Helped::yes);
}

TEST(Store, KnowsARunThatIsToldAgain) {
  const Folder folder;
  Store store = opened(folder / "runs.db");
  PastRun run = run_of("log", 1000, "failed", 0.01);
  run.origin = "diagnose";
  const auto first = store.add(run);
  run.lead_last = "200 3.5";  // it has gone on
  const auto again = store.add(run);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  run.lead_last = "100 1.5";  // the file was written over by a run with other settings
  run.settings["optim.lr"] = "0.001";
  const auto other = store.add(run);
  ASSERT_TRUE(other);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(*store.count(), 2U);
  EXPECT_EQ(store.find(*other)->previous, *first);
}

TEST(Store, TellsWhatWasSeenBeforeAndWhatEndedIt) {
  const Folder folder;
  Store store = opened(folder / "runs.db");
  const auto bad = store.add(run_of("train.py", 1000, "failed", 0.01));
  const auto good = store.add(run_of("train.py", 2000, "healthy", 0.001));
  ASSERT_TRUE(bad && good);
  const auto seen = store.seen_before(run_of("another.py", 3000, "failed", 0.01));
  ASSERT_TRUE(seen) << seen.error().text;
  ASSERT_TRUE(*seen);
  EXPECT_EQ((*seen)->run, *bad);
  EXPECT_EQ((*seen)->times, 1U);
  EXPECT_THAT((*seen)->symptoms, ::testing::ElementsAre("loss.nonfinite"));
  EXPECT_EQ((*seen)->ended_by, *good);
  ASSERT_EQ((*seen)->changed.size(), 1U);
  EXPECT_EQ((*seen)->changed[0].after, "0.001");

  EXPECT_FALSE(*store.seen_before(run_of("train.py", 3000, "healthy", 0.01)));
  PastRun other = run_of("train.py", 3000, "failed", 0.01);
  other.symptoms = {{"memory.growth", "warning", 1, 2, ""}, {"time.drift", "warning", 1, 2, ""}};
  EXPECT_FALSE(*store.seen_before(other)) << "the same cause, but nothing of it looks the same";
  EXPECT_FALSE(*store.seen_before(run_of("train.py", 1000, "failed", 0.01))) << "the run itself";
}

TEST(Store, FindsRunsByWords) {
  const Folder folder;
  Store store = opened(folder / "runs.db");
  ASSERT_TRUE(store.add(run_of("train.py", 1000, "failed", 0.01)));
  ASSERT_TRUE(store.add(run_of("train.py", 2000, "healthy", 0.001)));
  EXPECT_EQ(store.list({}, 10)->size(), 2U);
  EXPECT_EQ(store.list({}, 1)->front().verdict, "healthy") << "the newest first";
  EXPECT_EQ(store.list({"nan.lr-too"}, 10)->size(), 1U);
  EXPECT_EQ(store.list({"lr-too-high"}, 10)->size(), 1U) << "a part of an id";
  EXPECT_EQ(store.list({"ADAMW", "0.001"}, 10)->size(), 1U);
  EXPECT_EQ(store.list({"adamw"}, 10)->size(), 2U);
  EXPECT_TRUE(store.list({"\" OR 1"}, 10)) << "no word is a query";
  EXPECT_TRUE(store.list({"*"}, 10));
  EXPECT_EQ(store.list({"nothing-of-it"}, 10)->size(), 0U);
}

TEST(Store, ForgetsWithoutATrace) {
  const Folder folder;
  const std::string path = folder / "runs.db";
  Store store = opened(path);
  const auto id = store.add(run_of("a-name-to-be-forgotten.py", 1000, "failed", 0.01));
  ASSERT_TRUE(store.add(run_of("kept.py", 2000, "failed", 0.01)));
  ASSERT_TRUE(store.forget(*id));
  EXPECT_EQ(*store.count(), 1U);
  const auto holds = [&](const std::string& word) {
    for (const char* each : {"", "-wal"}) {
      std::ifstream file(path + each, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      if (bytes.find(word) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_FALSE(holds("a-name-to-be-forgotten"));
  EXPECT_TRUE(holds("kept.py"));
  ASSERT_TRUE(store.forget_all());
  EXPECT_EQ(*store.count(), 0U);
  EXPECT_FALSE(holds("kept.py"));
}

TEST(Store, LosesNoRunOfManyWriters) {
  const Folder folder;
  const std::string path = folder / "runs.db";
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 4; ++writer) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int failed = 0;
      for (int i = 0; i < 50; ++i) {
        auto store = Store::open(path, Store::Access::write);
        const auto id = store ? store->add(run_of("train.py", 1000.0 * writer + i, "failed", 0.01))
                              : core::Result<std::string>(tl::unexpected(store.error()));
        if (!id) ++failed;
      }
      ::_exit(failed == 0 ? 0 : 1);
    }
    writers.push_back(pid);
  }
  for (const pid_t each : writers) {
    int status = -1;
    ::waitpid(each, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*opened(path).count(), 200U);
}

TEST(Store, KeepsWhatWasToldBeforeItsWriterWasKilled) {
  const Folder folder;
  const std::string path = folder / "runs.db";
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Store store = opened(path);
    for (int i = 0;; ++i) {
      if (!store.add(run_of("train.py", i, "failed", 0.01))) ::_exit(1);
      if (::write(told[1], "x", 1) != 1) ::_exit(1);
    }
  }
  ::close(told[1]);
  char mark = 0;
  std::uint64_t count = 0;
  while (count < 20 && ::read(told[0], &mark, 1) == 1) ++count;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  while (::read(told[0], &mark, 1) == 1) ++count;  // what it said before it fell
  ::close(told[0]);
  Store store = opened(path);
  EXPECT_GE(*store.count(), count);
  EXPECT_LE(*store.count(), count + 1);
  std::uint64_t whole = 0;
  ASSERT_TRUE(store.each([&](const PastRun& run) {
    EXPECT_EQ(run.settings.size(), 2U);
    EXPECT_EQ(run.series.size(), 1U);
    ++whole;
    return true;
  }));
  EXPECT_EQ(whole, *store.count());
  EXPECT_TRUE(store.add(run_of("train.py", 1e6, "healthy", 0.01))) << "it goes on";
}

TEST(Store, SaysWhatIsWrongWithTheFile) {
  const Folder folder;
  const std::string garbage = folder.write("garbage.db", std::string(8192, 'x'));
  const auto broken = Store::open(garbage, Store::Access::write);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, core::ErrorCode::bad_format);
  EXPECT_THAT(broken.error().text, HasSubstr("APLOMB_STORE"));

  const std::string newer = folder / "newer.db";
  opened(newer);
  change(newer, "PRAGMA user_version = 99");
  const auto later = Store::open(newer, Store::Access::read);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, core::ErrorCode::unsupported);
  EXPECT_THAT(later.error().text, HasSubstr("newer aplomb"));

  const std::string other = folder / "other.db";
  change(other, "CREATE TABLE theirs(x)");
  const auto foreign = Store::open(other, Store::Access::write);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().text, HasSubstr("another program"));

  EXPECT_EQ(Store::open(folder / "none.db", Store::Access::read).error().code,
            core::ErrorCode::not_found);
  EXPECT_EQ(Store::open("/proc/nowhere/runs.db", Store::Access::write).error().code,
            core::ErrorCode::not_writable);
}

TEST(Store, ComesOutOfADamagedPageWithAnError) {
  const Folder folder;
  const std::string path = folder / "runs.db";
  {
    Store store = opened(path);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(store.add(run_of("train.py", i, "failed", 0.01)));
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8192);
    for (int i = 0; i < 60000; ++i) file.put('\x5A');
  }
  auto store = Store::open(path, Store::Access::read);
  if (store) {
    EXPECT_FALSE(store->each([](const PastRun&) { return true; }) && store->list({"adamw"}, 10));
  } else {
    EXPECT_EQ(store.error().code, core::ErrorCode::bad_format);
  }
}

}  // namespace
}  // namespace aplomb::store
