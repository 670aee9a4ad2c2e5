#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::content;
using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;
using ::testing::Not;

/// `% run` with its results in a folder of its own.
struct Wrapped {
  Folder folder;
  Said said;
  explicit Wrapped(const std::string& options, const std::string& command) {
    said = run_program("% run --out " + folder / "out" + " " + options + " -- " + command);
  }
  std::string file(const std::string& name) const { return content(folder / ("out/" + name)); }
};

TEST(RunCommand, PassesOutputOnUnchangedAndApart) {
  const Wrapped run("", R"(sh -c 'printf "one\ntwo"; printf "\001three" >&2; exit 0')");
  EXPECT_EQ(run.said.status, 0);
  EXPECT_EQ(run.said.out, "one\ntwo");
  EXPECT_THAT(run.said.error, ::testing::StartsWith("\001three"));
  EXPECT_THAT(run.file("output.log"), ::testing::AllOf(HasSubstr("one\ntwo"), HasSubstr("three")));
}

/// More than pipes hold, to a reader that is slow and to a file, both streams at once.
TEST(RunCommand, PassesMuchOutputOnByteByByte) {
  const Folder folder;
  const std::string run = "% run -q --out " + (folder / "out") +
                          " -- sh -c 'seq 400000 & seq 300000 >&2; wait' 2>>" + (folder / "error");
  const std::string sum = run_program("seq 400000 | sha256sum").out;
  EXPECT_EQ(run_program(run + " | (sleep 0.5; sha256sum)").out, sum);
  EXPECT_EQ(run_program("sha256sum <" + (folder / "error")).out,
            run_program("seq 300000 | sha256sum").out);
  EXPECT_EQ(content(folder / "out/output.log").size(),
            content(folder / "error").size() + 2'688'895);
  EXPECT_EQ(run_program(run + " >" + (folder / "to")).status, 0);
  EXPECT_EQ(run_program("sha256sum <" + (folder / "to")).out, sum);
}

TEST(RunCommand, GivesArgumentsOnAsTheyAre) {
  const Wrapped run("-q",
                    R"(sh -c 'for a; do echo "<$a>"; done' x '[1,2]' '' '--lr' 'a b' '--' '{}')");
  EXPECT_EQ(run.said.out, "<[1,2]>\n<>\n<--lr>\n<a b>\n<-->\n<{}>\n");
  EXPECT_EQ(run.said.error, "");
}

TEST(RunCommand, EndsAsTheProgramEnds) {
  EXPECT_EQ(Wrapped("-q", "sh -c 'exit 7'").said.status, 7);
  EXPECT_EQ(Wrapped("-q", "/no/such/program").said.status, 127);
  EXPECT_EQ(Wrapped("-q", "/etc/passwd").said.status, 126);
  const Said killed = run_program(
      "% run -q --out /tmp/aplomb-$$ -- sh -c 'kill -9 $$'; echo $?; rm -r /tmp/aplomb-$$");
  EXPECT_EQ(killed.out, "137\n");
  EXPECT_EQ(run_program("% run").status, 2);
}

/// What stands in the folder already may have been put there by somebody else.
TEST(RunCommand, WritesThroughNoLink) {
  const Folder folder;
  run_program("mkdir -p " + (folder / "out") + " " + (folder / "other"));
  for (const char* name : {"report.json", "report.html", "output.log", "run.lock"}) {
    run_program("echo mine >" + (folder / "other/") + name + "; ln -s " + (folder / "other/") +
                name + " " + (folder / "out/") + name);
  }
  run_program("ln -s " + (folder / "other") + " " + (folder / "out/attach"));
  const Said said = run_program("% run --record --out " + (folder / "out") + " -- echo hello");
  for (const char* name : {"report.json", "report.html", "output.log", "run.lock"}) {
    EXPECT_EQ(content(folder / ("other/" + std::string(name))), "mine\n") << name;
    EXPECT_NE(content(folder / ("out/" + std::string(name))), "mine\n") << name;
  }
  EXPECT_THAT(content(folder / "out/output.log"), HasSubstr("hello"));
  EXPECT_EQ(run_program("ls " + (folder / "other")).out,
            "output.log\nreport.html\nreport.json\nrun.lock\n");
  EXPECT_THAT(said.error, HasSubstr("attach"));
}

TEST(RunCommand, SaysWhatCouldNotBeKept) {
  const Said nowhere = run_program("% run --out /proc/no/where -- echo hello");
  EXPECT_EQ(nowhere.out, "hello\n");
  EXPECT_THAT(nowhere.error, HasSubstr("neither log nor report is kept"));
  EXPECT_THAT(nowhere.error, Not(HasSubstr("/dev/null")));
  // A log that has no more room than a file may take, and a folder in the report's place.
  const Folder folder;
  run_program("mkdir -p " + (folder / "out/report.json"));
  const Said full =
      run_program("ln -s /dev/full " + (folder / "out/x") + "; % run --out " + (folder / "out") +
                  " -- sh -c 'rm -r " + (folder / "out/run.lock") + "; echo hello'");
  EXPECT_THAT(full.error, Not(HasSubstr("log and report: ")));
  EXPECT_THAT(full.error, HasSubstr("the report was not written"));
}

TEST(RunCommand, AttachesByTheEnvironmentWhereItIsAsked) {
  const std::string tell = R"(sh -c 'echo "$PYTHONPATH|$APLOMB_ATTACH"')";
  EXPECT_THAT(Wrapped("-q", tell).said.out, Not(HasSubstr("attach")));
  const Wrapped run("--guard", tell);
  EXPECT_THAT(run.said.out, HasSubstr("/out/attach"));
  EXPECT_THAT(run.said.out, Not(HasSubstr(":|"))) << "the working folder would be on the path";
  EXPECT_THAT(run.said.out, HasSubstr("|guard:/"));
  EXPECT_THAT(run.file("attach/sitecustomize.py"), HasSubstr("from aplomb import attach"));
  EXPECT_THAT(run.said.error, HasSubstr("no optimizer step was seen"));
  EXPECT_THAT(Wrapped("-q --record", tell).said.out, HasSubstr("|record:/"));
}

TEST(RunCommand, SendsSignalsOn) {
  const Said said = run_program(
      "% run -q --out $(mktemp -d) -- sh -c 'trap \"echo got it; exit 5\" TERM; echo ready; "
      "while :; do sleep 0.05; done' & pid=$!; sleep 1; kill $pid; wait $pid; echo $?");
  EXPECT_EQ(said.out, "ready\ngot it\n5\n");
}

TEST(RunCommand, DoesNotWaitForWhatTheProgramLeavesBehind) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Wrapped("-q", "sh -c 'sleep 20 & echo done'").said.out, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// A training that diverges to NaN at record 40 and would go on for a minute.
constexpr const char* k_training =
    "sh -c 'i=0; while [ $i -lt 600 ]; do i=$((i+1)); if [ $i -lt 40 ]; then l=2.$((99-i)); else "
    "l=nan; fi; echo \"{'\\''loss'\\'': $l, '\\''grad_norm'\\'': 1.0, '\\''learning_rate'\\'': "
    "1e-05, "
    "'\\''step'\\'': $i}\"; sleep 0.02; done'";

TEST(RunCommand, SaysThatTheLossIsLostAndStopsThere) {
  const Wrapped run("--stop-on failed --grace 5", k_training);
  EXPECT_EQ(run.said.status, 143);  // as the shell tells of SIGTERM, by which it ended
  EXPECT_THAT(run.said.error, HasSubstr("aplomb: failed: "));
  EXPECT_THAT(run.said.error, HasSubstr("the program is stopped"));
  EXPECT_THAT(run.said.out, Not(HasSubstr("'step': 600")));
  const auto report = nlohmann::json::parse(run.file("report.json"));
  EXPECT_EQ(report["verdict"], "failed");
  EXPECT_THAT(run.file("report.html"), HasSubstr("<html"));
}

TEST(RunCommand, OfAProgramThatIsStoppedNobodyStays) {
  const Folder folder;
  const std::string stubborn = "sh -c 'trap \"\" TERM; echo $$ >>" + (folder / "pids") +
                               "; while :; do sleep 0.1; done' >/dev/null 2>&1 &";
  // One that ignores SIGTERM, and one that has left the session and its parents as well.
  const std::string script =
      folder.write("train.sh", stubborn + "\n(setsid " + stubborn + ")\n" + k_training + "\n");
  const Wrapped run("--stop-on failed --grace 1", "sh " + script);
  EXPECT_THAT(run.said.error, HasSubstr("the program is stopped"));
  EXPECT_EQ(run_program("for p in $(cat " + (folder / "pids") +
                        "); do echo one; kill -9 $p 2>/dev/null && echo alive; done")
                .out,
            "one\none\n");
}

TEST(RunCommand, OfAProgramThatWasToldToEndNobodyStays) {
  const Folder folder;
  const std::string script = folder.write(
      "train.sh",
      "(setsid sh -c 'trap \"\" TERM; echo $$ >>" + (folder / "pids") +
          "; while :; do sleep 0.1; done' >/dev/null 2>&1 &)\necho on; exec sleep 60\n");
  run_program("% run -q --grace 1 --out " + (folder / "out") + " -- sh " + script +
              " & pid=$!; i=0; while [ $i -lt 100 ] && ! [ -s " + (folder / "pids") +
              " ]; do sleep 0.1; i=$((i+1)); done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(run_program("for p in $(cat " + (folder / "pids") +
                        "); do echo one; kill -9 $p 2>/dev/null && echo alive; done")
                .out,
            "one\n");
}

TEST(RunCommand, TheProgramOutlivesUsAndItsOutputIsKept) {
  const Folder folder;
  const Said said = run_program(
      "% run -q --out " + (folder / "run") +
      " -- sh -c 'for i in $(seq 30); do echo line $i; echo also $i >&2; sleep 0.03; done; echo "
      "whole >" +
      (folder / "proof") +
      "' & pid=$!; sleep 0.4; kill -9 $pid; i=0; while [ $i -lt 100 ] && ! [ -s " +
      (folder / "proof") + " ]; do sleep 0.1; i=$((i+1)); done; sleep 0.3");
  EXPECT_EQ(test::content(folder / "proof"), "whole\n");
  EXPECT_THAT(said.out, HasSubstr("line 30\n"));
  EXPECT_THAT(said.error, HasSubstr("also 30\n"));
  EXPECT_THAT(test::content(folder / "run/output.log"), HasSubstr("line 30\n"));
}

/// print() of an unbuffered Python writes a line and its end apart.
TEST(RunCommand, SaysNothingInTheMiddleOfALine) {
  const Folder folder;
  folder.write("steps.sh",
               "for i in $(seq 1 30); do v=1.5; [ $i -gt 20 ] && v=nan\n"
               "printf \"{'loss': $v, 'step': $i}\"; sleep 0.02; printf '\\n'; done\n");
  const Said said =
      run_program("% run --out " + (folder / "out") + " -- sh " + (folder / "steps.sh") + " 2>&1");
  const std::size_t told = said.out.find("aplomb: failed");
  ASSERT_NE(told, std::string::npos) << said.out;
  for (std::size_t at = said.out.find("aplomb: "); at != std::string::npos;
       at = said.out.find("aplomb: ", at + 1))
    EXPECT_EQ(said.out[at - 1], '\n') << said.out;
}

TEST(RunCommand, SaysNothingOfAHealthyRun) {
  const Wrapped run(
      "",
      "sh -c 'for i in $(seq 1 80); do echo \"{'\\''loss'\\'': 2.$((99-i)), "
      "'\\''grad_norm'\\'': 0.9, '\\''learning_rate'\\'': 1e-05, '\\''step'\\'': $i}\"; done'");
  EXPECT_EQ(run.said.status, 0);
  EXPECT_THAT(run.said.error, Not(HasSubstr("failed")));
  EXPECT_THAT(run.said.error, Not(HasSubstr("unstable")));
}

TEST(RunCommand, CapturesAHang) {
  const Wrapped run("--hang-after 1 --hang-factor 2 --stop-on hang --grace 2",
                    "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo \"{'\\''loss'\\'': 2.$i, "
                    "'\\''step'\\'': $i}\"; sleep 0.1; done; sleep 60'");
  EXPECT_THAT(run.said.error, HasSubstr("it seems to hang"));
  EXPECT_THAT(run.file("hang-1.txt"), HasSubstr("sleep 60"));
  EXPECT_THAT(run.file("hang-1.txt"), HasSubstr("waits in"));
}

TEST(RunCommand, RunsTheProgramWhereNothingCanBeWritten) {
  const Said said = run_program("% run --out /proc/no -- sh -c 'echo works; exit 3'");
  EXPECT_EQ(said.status, 3);
  EXPECT_EQ(said.out, "works\n");
  EXPECT_THAT(said.error, HasSubstr("/proc/no"));
}

TEST(RunCommand, TheProgramsOwnOptionsAreNoneOfOurs) {
  const Folder folder;
  const Said said =
      run_program("cd " + (folder / "") +
                  " && % run --stop-on failed --stop-on hang -- sh -c 'echo its own; exit 5'");
  EXPECT_EQ(said.status, 5) << said.error;
  EXPECT_EQ(said.out, "its own\n");
}

}  // namespace
}  // namespace aplomb::cli
