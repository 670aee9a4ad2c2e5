#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb {
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

}  // namespace
}  // namespace aplomb
