#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

/// A trainer that says what it was given and ends with status 7.
std::string put_fake_trainer(const Folder& folder, const std::string& name) {
  const std::string path =
      folder.write(name, "#!/bin/sh\nfor word; do echo \"<$word>\"; done\necho oops >&2\nexit 7\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(TrainCommand, GivesItsWordsOnAndBecomesTheTrainer) {
  const Folder folder;
  const Said said = run_program("APLOMB_TRAIN=" + put_fake_trainer(folder, "fake") +
                                " % train --help --lr '[1,2]' '' 'a b' -- x --bf16=True");
  EXPECT_EQ(said.status, 7);
  EXPECT_EQ(said.out, "<--help>\n<--lr>\n<[1,2]>\n<>\n<a b>\n<-->\n<x>\n<--bf16=True>\n");
  EXPECT_EQ(said.error, "oops\n");
}

TEST(TrainCommand, LetsThreadsThatWaitSleepUnlessToldOtherwise) {
  const Folder folder;
  const std::string path =
      folder.write("says", "#!/bin/sh\necho \"${GOMP_SPINCOUNT-none} ${OMP_WAIT_POLICY-none}\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const std::string none = "unset GOMP_SPINCOUNT OMP_WAIT_POLICY; APLOMB_TRAIN=" + path;
  EXPECT_EQ(run_program(none + " % train").out, "1000 none\n");
  EXPECT_EQ(run_program(none + " % lab list").out, "1000 none\n");
  EXPECT_EQ(run_program(none + " GOMP_SPINCOUNT=7 % train").out, "7 none\n");
  EXPECT_EQ(run_program(none + " OMP_WAIT_POLICY=active % train").out, "none active\n");
}

TEST(TrainCommand, FindsTheTrainerBesideItselfAndInLibexec) {
  namespace fs = std::filesystem;
  for (const char* place : {"bin/aplomb-train", "libexec/aplomb/aplomb-train"}) {
    const Folder folder;
    fs::create_directories(folder / "bin");
    fs::create_directories(folder / "libexec/aplomb");
    fs::copy_file(APLOMB_BINARY, folder / "bin/aplomb");
    put_fake_trainer(folder, place);
    const Said said = run_program("unset APLOMB_TRAIN; " + folder / "bin/aplomb" + " train one");
    EXPECT_EQ(said.out, "<one>\n") << place << said.error;
  }
}

TEST(TrainCommand, SaysHowToGetTheTrainerWhereThereIsNone) {
  namespace fs = std::filesystem;
  const Folder folder;
  fs::copy_file(APLOMB_BINARY, folder / "aplomb");
  const Said none = run_program("unset APLOMB_TRAIN; " + folder / "aplomb" + " train --help");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.error, HasSubstr("cmake --preset train"));
  const Said wrong = run_program("APLOMB_TRAIN=/no/such % train");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.error, HasSubstr("/no/such"));
}

}  // namespace
}  // namespace aplomb::cli
