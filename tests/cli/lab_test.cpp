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

TEST(LabCommand, BecomesTheTrainerWithItsNameBeforeItsWords) {
  const Folder folder;
  const std::string path =
      folder.write("fake", "#!/bin/sh\nfor word; do echo \"<$word>\"; done\nexit 5\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const Said said = run_program("APLOMB_TRAIN=" + path + " % lab run nan.x --seed 3 --help");
  EXPECT_EQ(said.status, 5);
  EXPECT_EQ(said.out, "<lab>\n<run>\n<nan.x>\n<--seed>\n<3>\n<--help>\n");
}

TEST(LabCommand, SaysHowToGetTheTrainerWhereThereIsNone) {
  const Said said = run_program("APLOMB_TRAIN=/no/such % lab list");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("/no/such"));
}

TEST(LabCommand, IsListedAndCompleted) {
  EXPECT_THAT(run_program("% --help").out, HasSubstr("lab "));
  EXPECT_THAT(run_program("% completion bash").out, HasSubstr("lab) words=\"list run sweep\""));
}

}  // namespace
}  // namespace aplomb::cli
