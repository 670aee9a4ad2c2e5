#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

TEST(CompletionCommand, NamesEveryCommandAndOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Said said = run_program(std::string("% completion ") + shell);
    EXPECT_EQ(said.status, 0);
    for (const char* word :
         {"diagnose", "explain", "list", "completion", "json", "html", "verbose"}) {
      EXPECT_THAT(said.out, HasSubstr(word)) << shell;
    }
  }
}

TEST(CompletionCommand, WorksInBash) {
  const Folder folder;
  const std::string script = folder / "completion.bash";
  ASSERT_EQ(run_program("% completion bash > " + script).status, 0);
  const auto complete = [&](const std::string& words, int at) {
    return run_program("bash -c 'source " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                       std::to_string(at) + "; _aplomb; echo \"${COMPREPLY[@]}\"'")
        .out;
  };
  EXPECT_EQ(complete("aplomb dia", 1), "diagnose\n");
  EXPECT_EQ(complete("aplomb diagnose --ht", 2), "--html\n");
  EXPECT_EQ(complete("aplomb list cau", 2), "causes\n");
  EXPECT_EQ(complete("% explain loss.nonf", 2), "loss.nonfinite\n");
}

TEST(CompletionCommand, SaysTwoForAShellItDoesNotKnow) {
  EXPECT_EQ(run_program("% completion tcsh").status, 2);
}

}  // namespace
}  // namespace aplomb::cli
