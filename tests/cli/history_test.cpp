#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using nlohmann::json;
using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

/// A program and a store of its own.
struct Remembered {
  Folder folder;
  std::string store = "APLOMB_STORE=" + (folder / "data/runs.db") + " ";

  Said diagnose(const std::string& words) const {
    return run_program(store + "% diagnose " + words);
  }
  Said history(const std::string& words) const { return run_program(store + "% history " + words); }
  /// A log that goes wrong, or does not, with a learning rate.
  std::string log(const std::string& name, bool fails, const std::string& lr) const {
    std::string text = "learning_rate: " + lr + "\nmax_steps: 400\n";
    double loss = 4;
    for (int step = 1; step <= 400; ++step) {
      loss = 1.2 + (loss - 1.2) * 0.99 + (step % 7) * 0.002;
      const bool broken = fails && step > 60;
      text +=
          "{'loss': " + (broken ? "nan" : std::to_string(loss)) + ", 'grad_norm': " +
          (broken ? "nan" : std::to_string(fails ? 1.0 + step * step * 0.5 : 1.0 + loss * 0.1)) +
          ", 'learning_rate': " + lr + ", 'step': " + std::to_string(step) + "}\n";
    }
    return folder.write(name, text);
  }
};

TEST(HistoryCommand, RemembersListsShowsAndForgets) {
  const Remembered memory;
  const Said none = memory.history("");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.error, HasSubstr("no run is remembered yet"));

  const Said told = memory.diagnose("--remember " + memory.log("exp-1/train.log", true, "0.5"));
  EXPECT_THAT(told.error, HasSubstr("remembered as "));
  const Said list = memory.history("");
  EXPECT_EQ(list.status, 0) << list.error;
  EXPECT_THAT(list.out, HasSubstr("failed"));
  EXPECT_THAT(list.out, HasSubstr("exp-1"));
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;

  const json runs = json::parse(memory.history("--json").out);
  EXPECT_EQ(runs["schema"], "aplomb.history/1");
  ASSERT_EQ(runs["runs"].size(), 1U);
  const std::string id = runs["runs"][0]["id"];
  EXPECT_THAT(memory.history("show " + id.substr(0, 4)).out, HasSubstr("optim.lr = 0.5"));
  EXPECT_EQ(json::parse(memory.history("show --json " + id).out)["settings"]["optim.lr"], "0.5");
  EXPECT_EQ(json::parse(memory.history("export --all").out)["schema"], "aplomb.run/1");
  EXPECT_EQ(json::parse(memory.history("search --json train.log").out)["runs"].size(), 1U);
  EXPECT_EQ(json::parse(memory.history("search --json healthy-word").out)["runs"].size(), 0U);

  EXPECT_EQ(memory.history("forget " + id).status, 2) << "not without --yes";
  EXPECT_EQ(json::parse(memory.history("--json").out)["count"], 1);
  EXPECT_EQ(memory.history("forget").status, 2);
  EXPECT_EQ(memory.history("forget --yes " + id).status, 0);
  EXPECT_EQ(json::parse(memory.history("--json").out)["count"], 0);
}

TEST(HistoryCommand, ReportsSayWhatWasSeenBefore) {
  const Remembered memory;
  ASSERT_THAT(memory.diagnose("--remember " + memory.log("exp-1/train.log", true, "0.5")).error,
              HasSubstr("remembered"));
  const std::string again = memory.log("exp-2/train.log", true, "0.5");
  const Said seen = memory.diagnose(again);
  EXPECT_THAT(seen.out, HasSubstr("Seen before: the same symptoms and cause"));
  const json report = json::parse(memory.diagnose("--json " + again).out);
  EXPECT_EQ(report["seen_before"]["times"], 1);
  EXPECT_TRUE(report["seen_before"]["ended_by"].is_null());
  EXPECT_EQ(json::parse(memory.history("--json").out)["count"], 1) << "a look adds nothing";
  EXPECT_FALSE(json::parse(run_program("% diagnose --json " + again).out).contains("seen_before"));
}

TEST(HistoryCommand, ABrokenStoreIsToldAndDoesNotStopTheDiagnosis) {
  const Remembered memory;
  const std::string log = memory.log("train.log", true, "0.5");
  memory.folder.write("data/runs.db", std::string(4096, 'x'));
  for (const char* how : {"", "--remember "}) {
    const Said said = memory.diagnose(how + log);
    EXPECT_EQ(said.status, 1);
    EXPECT_THAT(said.out, HasSubstr("FAILED"));
    EXPECT_THAT(said.error, HasSubstr("not a database"));
  }
  const Said list = memory.history("");
  EXPECT_EQ(list.status, 2);
  EXPECT_THAT(list.error, HasSubstr("not a database"));
}

TEST(HistoryCommand, AnotherStoreCanBeNamed) {
  const Remembered memory;
  const std::string other = " --store " + (memory.folder / "other.db");
  const std::string log = memory.log("exp-1/train.log", true, "0.5");
  ASSERT_THAT(memory.diagnose("--remember" + other + " " + log).error, HasSubstr("remembered"));
  EXPECT_EQ(memory.history("").status, 2) << "not in the usual one";
  EXPECT_EQ(json::parse(memory.history("--json" + other).out)["count"], 1);
  EXPECT_EQ(run_program(memory.store + "% run -q --out " + memory.folder / "out" + other +
                        " -- sh -c 'echo loss 1'")
                .status,
            0);
  EXPECT_EQ(json::parse(memory.history("list --json" + other).out)["count"], 2);
  // A database that is not there: the diagnosis stands, and no password is told.
  const std::string team = " --store postgresql://me:secret@127.0.0.1:1/runs";
  const Said said = run_program("XDG_DATA_HOME=" + (memory.folder / "data") +
                                " % diagnose --remember" + team + " " + log);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("FAILED"));
  EXPECT_THAT(said.error, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(memory.history(team).status, 2);
}

/// Nothing that is killed by SIGKILL can say a last word: whoever comes next says it.
TEST(HistoryCommand, KeepsARunWhoseWatcherWasKilled) {
  const test::Folder folder;
  const std::string store = "APLOMB_STORE=" + (folder / "data/runs.db") + " ";
  run_program(store + "% run -q --out " + (folder / "first") + " -- echo loss=1.0");  // makes it
  run_program(
      "(" + store + "exec % run -q --out " + (folder / "out") +
      " -- sh -c 'echo step=1 loss=2.5; sleep 3; echo step=2 loss=2.4') >/dev/null 2>&1 & sleep 1; "
      "pid=$(sed -n 's/^pid //p' " +
      (folder / "out/run.lock") + "); kill -9 $pid; sleep 0.3");
  EXPECT_THAT(test::content(folder / "out/run.lock"), Not(HasSubstr("status")));
  EXPECT_EQ(run_program(store + "% history").error, "") << "the program goes on, and its log";
  run_program("sleep 3");
  EXPECT_THAT(test::content(folder / "out/output.log"), HasSubstr("step=2"));
  const Said listed = run_program(store + "% history");
  EXPECT_THAT(listed.error, HasSubstr("was killed; kept as"));
  EXPECT_THAT(listed.out, HasSubstr("/out"));
  EXPECT_EQ(run_program(store + "% history").error, "");
  EXPECT_EQ(run_program("ls " + (folder / "data/under-way")).out, "");
}

TEST(HistoryCommand, KeepsWhatRunHasRun) {
  const Remembered memory;
  const std::string log = memory.log("text", true, "0.5");
  const std::string run = memory.store + "% run -q --out " + memory.folder / "out";
  EXPECT_EQ(run_program(run + "1 --no-remember -- sh -c 'cat " + log + "; exit 3'").status, 3);
  EXPECT_EQ(memory.history("").status, 2) << "nothing was kept";
  EXPECT_EQ(run_program(run + "2 -- sh -c 'cat " + log + "; exit 3'").status, 3);
  const json runs = json::parse(memory.history("--json").out)["runs"];
  ASSERT_EQ(runs.size(), 1U);
  const json kept =
      json::parse(memory.history("show --json " + runs[0]["id"].get<std::string>()).out);
  EXPECT_EQ(kept["status"], 3);
  EXPECT_EQ(kept["origin"], "run");
  // What is read of its folder afterwards is the same run.
  EXPECT_THAT(memory.diagnose("--remember " + memory.folder / "out2").error,
              HasSubstr(runs[0]["id"].get<std::string>()));
  EXPECT_EQ(json::parse(memory.history("--json").out)["count"], 1);
  // A store that cannot be written is told, and the program's status stays.
  const Said broken = run_program("APLOMB_STORE=/proc/nowhere/runs.db % run --out " +
                                  memory.folder / "out3" + " -- sh -c 'exit 4'");
  EXPECT_EQ(broken.status, 4);
  EXPECT_THAT(broken.error, HasSubstr("the run is not remembered"));
}

}  // namespace
}  // namespace aplomb::cli
