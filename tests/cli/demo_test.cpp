#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::content;
using test::Folder;
using test::run_program;
using test::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DemoCommand, BreaksARunFindsTheCauseAndMendsIt) {
  const Folder folder;
  const Said said = run_program("cd " + (folder / "") + " && % demo");
  EXPECT_EQ(said.status, 0) << said.out << said.error;
  EXPECT_THAT(said.out, AllOf(HasSubstr("FAILED"), HasSubstr("The learning rate is too high"),
                              HasSubstr("HEALTHY")));
  EXPECT_THAT(content(folder / "aplomb-demo/broken/train.log"), HasSubstr("nan"));
  EXPECT_THAT(content(folder / "aplomb-demo/mended/train.log"), Not(HasSubstr("nan")));
}

TEST(DemoCommand, SaysTwoWhereItCannotWrite) {
  EXPECT_EQ(run_program("% demo --out /dev/null/below").status, 2);
}

TEST(NoCommand, SaysWhatLiesHereAndWhatItWouldDo) {
  const Said said = run_program("cd " APLOMB_SOURCE_DIR "/examples/lr-too-high-nan && %");
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, AllOf(HasSubstr("train.log"), HasSubstr("trainer-state"),
                              HasSubstr("aplomb diagnose ."), HasSubstr("aplomb check .")));
}

TEST(NoCommand, InAFolderWithoutARunNamesTheDemo) {
  const Folder folder;
  const Said said = run_program("cd " + (folder / "") + " && %");
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, AllOf(HasSubstr("Nothing in this folder"), HasSubstr("aplomb demo")));
}

TEST(NoCommand, ShowsNoControlCharactersOfNames) {
  const Folder folder;
  const Said said = run_program(
      "cd " + (folder / "") +
      " && printf 'learning_rate: 1e-4\\nmax_steps: 5\\n' >\"$(printf 'a b\\033[31m.yaml')\" && %");
  EXPECT_THAT(said.out, AllOf(HasSubstr("a b"), Not(HasSubstr("\x1b"))));
}

TEST(UnknownCommand, IsToldWithTheNearestOneOrWithThePathThatItNames) {
  Said said = run_program("% diagnos .");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("Did you mean aplomb diagnose?"));
  said = run_program("% " APLOMB_SOURCE_DIR "/examples");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error,
              HasSubstr("Did you mean aplomb diagnose " APLOMB_SOURCE_DIR "/examples?"));
  said = run_program("% diagnose . --jsno");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("Did you mean --json?"));
}

}  // namespace
}  // namespace aplomb::cli
