#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

TEST(DiagnoseCommand, SaysTwoWhereAPathDoesNotExist) {
  const Said said = run_program("% diagnose /nowhere/at/all");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("/nowhere/at/all: no such file or folder"));
  EXPECT_EQ(said.out, "");
}

TEST(DiagnoseCommand, SaysTwoForAWrongOption) {
  EXPECT_EQ(run_program("% diagnose").status, 2);
  EXPECT_EQ(run_program("% diagnose --nonsense /tmp").status, 2);
  EXPECT_EQ(run_program("% diagnose --most 0 /tmp").status, 2);
  EXPECT_EQ(run_program("% nonsense").status, 2);
  EXPECT_EQ(run_program("%").status, 2);
}

TEST(DiagnoseCommand, ShowsHelpWithExamplesAndVersionWithStatusZero) {
  const Said help = run_program("% diagnose --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(help.out, HasSubstr("Exit status"));
  EXPECT_EQ(run_program("% --help").status, 0);
  const Said version = run_program("% --version");
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("aplomb [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(DiagnoseCommand, FailsWithAReasonWhereOutputCannotBeWritten) {
  const Folder folder;
  const std::string log = folder.write("train.log", "{'loss': 2.5, 'step': 1}\n");
  const Said full = run_program("% diagnose --json " + log + " > /dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.error, HasSubstr("cannot write to standard output"));
}

/// A run that blows up at a learning rate far above what its kind stands.
std::string exploding_log() {
  std::string log;
  double loss = 4.0;
  for (int step = 1; step <= 60; ++step) {
    loss = step < 30 ? loss - 0.03 : loss * 1.6;
    const std::string shown = step < 52 ? std::to_string(loss) : "nan";
    log += "{'loss': " + shown +
           ", 'grad_norm': " + (step < 52 ? std::to_string(loss * 2) : "nan") +
           ", 'learning_rate': 0.05, 'epoch': " + std::to_string(step * 0.01) + "}\n";
  }
  return log;
}

TEST(DiagnoseCommand, FindsABrokenRunAndSaysSoInItsStatus) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said = run_program("% diagnose " + log);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, ::testing::StartsWith("FAILED"));
  EXPECT_THAT(said.out, HasSubstr("train.log:"));
  EXPECT_EQ(said.error, "");  // no progress line where nobody looks
}

TEST(DiagnoseCommand, ReadsStandardInputAndLeavesNothingBehind) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said =
      run_program("export TMPDIR=" + (folder / "") + "; cat " + log + " | % diagnose --json -");
  EXPECT_EQ(said.status, 1);
  const auto report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["inputs"][0]["path"], "standard input");
  EXPECT_EQ(report["verdict"], "failed");
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
    left += entry.exists() ? 1 : 0;
  EXPECT_EQ(left, 1U);  // the log
}

TEST(DiagnoseCommand, WritesThePageBesideTheReport) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string page = folder / "report.html";
  EXPECT_EQ(run_program("% diagnose " + log + " --html " + page).status, 1);
  EXPECT_THAT(test::content(page), ::testing::StartsWith("<!doctype html>"));
  EXPECT_FALSE(std::filesystem::exists(page + ".part"));
}

TEST(DiagnoseCommand, FailsWithAReasonWhereThePageCannotBeWritten) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said = run_program("% diagnose " + log + " --html /nowhere/at/all/report.html");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error,
              HasSubstr("cannot write /nowhere/at/all/report.html: No such file or directory"));
}

TEST(DiagnoseCommand, SaysSoWhereThePipeIsClosed) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said =
      run_program("{ sleep 0.3; % diagnose --json " + log + "; echo status $? >&2; } | true");
  EXPECT_THAT(said.error, HasSubstr("Broken pipe"));
  EXPECT_THAT(said.error, HasSubstr("status 2"));
}

TEST(DiagnoseCommand, PutsTheRemedyIntoACopyOfTheConfiguration) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string config = folder.write(
      "axolotl.yaml",
      "base_model: m\nsequence_len: 512\n# mine\nlearning_rate: 0.05\nwarmup_ratio: 0.0\n"
      "max_grad_norm: 0\nmicro_batch_size: 2\n");
  const std::string before = test::content(config);
  const std::string out = folder / "fixed.yaml";
  const Said said = run_program("% diagnose " + log + " " + config + " --fix " + out);
  EXPECT_EQ(said.status, 1) << said.error;
  EXPECT_THAT(said.error, HasSubstr("wrote " + out));
  EXPECT_EQ(test::content(config), before);
  EXPECT_NE(test::content(out), before);
  EXPECT_THAT(test::content(out), HasSubstr("# mine"));
}

TEST(DiagnoseCommand, NeverWritesToAnInput) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string config =
      folder.write("axolotl.yaml", "learning_rate: 0.05\nmicro_batch_size: 2\n");
  const Said said = run_program("% diagnose " + log + " " + config + " --fix " + config);
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(test::content(config), "learning_rate: 0.05\nmicro_batch_size: 2\n");
}

}  // namespace
}  // namespace aplomb::cli
