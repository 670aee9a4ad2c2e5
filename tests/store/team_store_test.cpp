#include "store/team_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/folder.h"
#include "store/attendant.h"
#include "store/place.h"
#include "store/spool.h"

namespace aplomb::store {
namespace {

using test::Folder;
using ::testing::HasSubstr;
using ::testing::Not;

PastRun run_of(const std::string& program, double began, const std::string& verdict) {
  PastRun run;
  run.origin = "run";
  run.program = program;
  run.name = "/data/out/" + program + std::to_string(static_cast<int>(began));
  run.paths = {run.name + "/output.log"};
  run.began = began;
  run.ended = began + 60;
  run.verdict = verdict;
  run.headline = "the headline of " + verdict;
  run.steps = 100;
  run.settings = {{"optim.lr", verdict == "healthy" ? "0.001" : "0.01"}, {"optim.name", "AdamW"}};
  run.lead_path = run.paths.front();
  run.lead_first = "1 2.5";
  run.lead_last = "100 " + verdict;
  run.kinds = "text-log";
  if (verdict == "healthy") return run;
  run.is_answered = true;
  run.causes = {{"nan.lr-too-high", "The learning rate is too high", 0.9}};
  run.symptoms = {{"loss.nonfinite", "failed", 40, 100, "loss is nan from step 40"}};
  run.series = {{"loss", "loss", 100, {{1, 2.5}, {40, 7.5}}}};
  return run;
}

/// A server of the test's own, on a socket in its folder. It refuses to run as root: then it is the user `postgres`.
class Server {
 public:
  Server() {
    for (const char* version : {"17", "16", "15", "14", "13"}) {
      const std::string programs = std::string("/usr/lib/postgresql/") + version + "/bin/";
      if (std::filesystem::exists(programs + "initdb")) {
        programs_ = programs;
        break;
      }
    }
    if (programs_.empty()) return;
    if (::getuid() == 0) {
      as_ = "setpriv --reuid postgres --regid postgres --clear-groups ";
      if (run("chown postgres '" + folder_ / "" + "'") != 0) programs_.clear();
    }
    if (programs_.empty()) return;
    if (run(as_ + programs_ + "initdb -D '" + data() + "' -U me -A trust --no-sync -E UTF8") != 0)
      programs_.clear();
  }
  ~Server() { stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool is_installed() const { return !programs_.empty(); }
  bool start() const {
    return run(as_ + programs_ + "pg_ctl -D '" + data() + "' -w -t 60 -l '" + folder_ / "log" +
               "' -o \"-c listen_addresses='' -c fsync=off -k '" + folder_ / "" + "'\" start") == 0;
  }
  void stop() const {
    if (is_installed()) run(as_ + programs_ + "pg_ctl -D '" + data() + "' -m immediate stop");
  }
  int sql(const std::string& text) const {
    return run("psql -q '" + url() + "' -c \"" + text + "\"");
  }
  std::string url() const { return "postgresql://me@/postgres?host=" + folder_ / ""; }

 private:
  std::string data() const { return folder_ / "data"; }
  static int run(const std::string& line) {
    return std::system((line + " > /dev/null 2>&1 < /dev/null").c_str());
  }
  Folder folder_;
  std::string programs_;
  std::string as_;
};

bool knows_postgresql() {
  const auto store = open_team_store("postgresql://nobody@127.0.0.1:1/none", Access::read);
  return !store && store.error().code != core::ErrorCode::unsupported;
}

TEST(TeamStore, KeepsFindsComparesAndForgetsRunsInARealServer) {
  const Server server;
  if (!knows_postgresql() || !server.is_installed() || !server.start())
    GTEST_SKIP() << "no PostgreSQL here";
  EXPECT_EQ(open_store(server.url(), Access::read).error().code, core::ErrorCode::not_found);
  const auto look = tell_store(server.url(), false, run_of("train.py", 1000, "failed"));
  EXPECT_TRUE(look && !look->seen_before) << "an empty database is no fault of a diagnosis";
  auto opened = open_store(server.url(), Access::write);
  ASSERT_TRUE(opened) << opened.error().text;
  RunStore& store = **opened;

  PastRun told = run_of("train.py", 1000, "failed");
  told.headline = "odd \xff\xfe bytes, a ' and a \x01";
  const auto first = store.add(told);
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(*store.add(told), *first) << "told again it is the same run";
  const auto sound = store.add(run_of("train.py", 2000, "healthy"));
  ASSERT_TRUE(sound);
  EXPECT_EQ(*store.count(), 2U);
  const auto kept = store.find(first->substr(0, 6));
  ASSERT_TRUE(kept) << kept.error().text;
  EXPECT_EQ(kept->settings, told.settings);
  EXPECT_EQ(kept->series.size(), 1U);
  EXPECT_THAT(kept->host, HasSubstr("host-"));
  const auto after = store.find(*sound);
  EXPECT_EQ(after->previous, *first);
  EXPECT_EQ(after->helped, Helped::yes);
  ASSERT_EQ(after->changed.size(), 1U);
  EXPECT_EQ(after->changed[0].name, "optim.lr");

  EXPECT_EQ(store.list({}, 10)->front().verdict, "healthy") << "the newest first";
  EXPECT_EQ(store.list({"lr-too-high", "adamw"}, 10)->size(), 1U);
  EXPECT_EQ(store.list({"'; DROP TABLE aplomb_run; --"}, 10)->size(), 0U);
  const auto seen = store.seen_before(run_of("other.py", 3000, "failed"));
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->ended_by, *sound);
  EXPECT_FALSE(*store.seen_before(told)) << "the run itself";

  EXPECT_EQ(store.find("nothing").error().code, core::ErrorCode::not_found);
  ASSERT_TRUE(store.forget(*first));
  EXPECT_EQ(*store.count(), 1U);
  ASSERT_TRUE(store.forget_all());
  EXPECT_EQ(*store.count(), 0U);
  ASSERT_EQ(server.sql("UPDATE aplomb_about SET value = '99' WHERE name = 'version'"), 0);
  const auto newer = open_store(server.url(), Access::write);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, core::ErrorCode::unsupported);
}

TEST(TeamStore, LosesNoRunOfManyWriters) {
  const Server server;
  if (!knows_postgresql() || !server.is_installed() || !server.start())
    GTEST_SKIP() << "no PostgreSQL here";
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 4; ++writer) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int failed = 0;
      auto store = open_store(server.url(), Access::write);  // all make the tables at once
      for (int i = 0; store && i < 25; ++i)
        failed += !(*store)->add(run_of("train.py", 1000.0 * writer + i, "failed"));
      ::_exit(store && failed == 0 ? 0 : 1);
    }
    writers.push_back(pid);
  }
  for (const pid_t each : writers) {
    int status = -1;
    ::waitpid(each, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*(*open_store(server.url(), Access::read))->count(), 100U);
}

TEST(TeamStore, WhatWasToldWhileItWasAwayIsSentLater) {
  const Server server;
  if (!knows_postgresql() || !server.is_installed() || !server.start())
    GTEST_SKIP() << "no PostgreSQL here";
  const Folder home;
  ::setenv("XDG_DATA_HOME", (home / "data").c_str(), 1);
  ASSERT_TRUE(tell_store(server.url(), true, run_of("train.py", 1000, "failed")));
  server.stop();
  for (int i = 1; i <= 3; ++i) {
    const auto told = tell_store(server.url(), true, run_of("train.py", 1000 + i, "failed"));
    ASSERT_FALSE(told);
    EXPECT_THAT(told.error().text, HasSubstr("the run waits in " + home / "data"));
  }
  EXPECT_FALSE(tell_store(server.url(), false, run_of("train.py", 5000, "failed"))) << "a look";
  ASSERT_TRUE(server.start());
  const auto told = tell_store(server.url(), true, run_of("train.py", 2000, "healthy"));
  ASSERT_TRUE(told) << told.error().text;
  EXPECT_EQ(*(*open_store(server.url(), Access::read))->count(), 5U);
  EXPECT_TRUE(std::filesystem::is_empty(waiting_folder(server.url())));
}

TEST(TeamStore, TellsNoPassword) {
  EXPECT_EQ(shown_place("postgresql://me:secret@db.example.org:5433/runs?password=secret&a=b"),
            "postgresql://db.example.org:5433/runs");
  EXPECT_EQ(shown_place("postgres://me:a/b@db/runs"), "postgresql://db/runs");
  EXPECT_EQ(shown_place("/home/me/runs.db"), "/home/me/runs.db");
  for (const char* url : {"postgresql://me:secret@127.0.0.1:1/runs", "postgresql://me:secret@[::1",
                          "postgresql://me:secret@127.0.0.1:x/runs?y"}) {
    const auto store = open_store(url, Access::write);
    ASSERT_FALSE(store) << url;
    EXPECT_THAT(store.error().text, Not(HasSubstr("secret")));
  }
}

TEST(Spool, LaysDownWholeRunsForThisUserAlone) {
  const Folder folder;
  const auto laid = lay_down(run_of("train.py", 1, "failed"), folder / "a/waiting");
  ASSERT_TRUE(laid) << laid.error().text;
  const auto rights = std::filesystem::status(*laid).permissions();
  EXPECT_EQ(rights & std::filesystem::perms::group_all, std::filesystem::perms::none);
  EXPECT_EQ(rights & std::filesystem::perms::others_all, std::filesystem::perms::none);
  folder.write("a/waiting/torn.json", "{\"id\":");
  auto store = open_store(folder / "runs.db", Access::write);
  ASSERT_TRUE(store);
  EXPECT_EQ(send_waiting(**store, folder / "a/waiting"), 1U);
  EXPECT_EQ(send_waiting(**store, folder / "a/waiting"), 0U);
  EXPECT_EQ(*(*store)->count(), 1U);
  EXPECT_FALSE(lay_down(run_of("train.py", 1, "failed"), "/proc/nowhere/waiting"));
}

}  // namespace
}  // namespace aplomb::store
