#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BundleCommand, ShowsWhatItHoldsAndAsksBeforeItWrites) {
  const Folder folder;
  const std::string log = folder.write("train.log", "step 1 | loss 2.5 | /home/ann/run\n");
  const std::string out = log + ".tar.gz";
  const Said shown = run_program("% bundle " + log + " --dry-run -o " + out);
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("train.log"));
  EXPECT_THAT(shown.out, HasSubstr("Redacted: "));
  EXPECT_EQ(run_program("test -e " + out).status, 1);
  const Said refused = run_program("% bundle " + log + " -o " + out + " < /dev/null");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.error, HasSubstr("--yes"));
  EXPECT_EQ(run_program("% bundle " + log + " --yes -o " + out).status, 0);
  const Said inside = run_program("tar xzOf " + out);
  EXPECT_THAT(inside.out, HasSubstr("loss 2.5"));
  EXPECT_THAT(inside.out, Not(HasSubstr("ann")));
}

TEST(BundleCommand, InputsAreNeverWrittenAndFilesOfSecretsStayOut) {
  const Folder folder;
  const std::string log = folder.write("run/train.log", "step 1 | loss 2.5\nstep 2 | loss 2.4\n");
  const std::string env = folder.write("run/.env", "PLAIN=zebra-in-the-env\n");
  const std::string before = test::content(log);
  std::filesystem::create_hard_link(log, folder / "second.log");
  std::filesystem::create_symlink(log, folder / "link.log");
  std::filesystem::create_directory_symlink(folder / "run", folder / "way");
  for (const std::string& out : {log, folder / "second.log", folder / "link.log",
                                 folder / "way/train.log", folder / "run/../run/train.log", env}) {
    const Said said = run_program("% bundle " + (folder / "run") + " --yes -o " + out);
    EXPECT_EQ(said.status, 2) << out;
    EXPECT_THAT(said.error, HasSubstr("refused to write")) << out;
    const Said page = run_program("% diagnose " + (folder / "run") + " --html " + out);
    EXPECT_EQ(page.status, 2) << out;
    EXPECT_THAT(page.error, HasSubstr("refused to write")) << out;
    EXPECT_EQ(test::content(log), before) << out;
  }
  EXPECT_NE(
      run_program("% diagnose " + (folder / "run") + " --html " + (folder / "run/new.html")).status,
      2);
  EXPECT_NE(
      run_program("% diagnose " + (folder / "run") + " --html " + (folder / "run/new.html")).status,
      2);
  const std::string out = folder / "b.tar.gz";
  const Said packed = run_program("% bundle " + (folder / "run") + " " + env + " --yes -o " + out);
  EXPECT_EQ(packed.status, 0) << packed.error;
  EXPECT_THAT(packed.out, HasSubstr("file of secrets"));
  EXPECT_THAT(run_program("tar xzOf " + out).out, Not(HasSubstr("zebra-in-the-env")));
  // Nothing that lay in wait under a temporary name is written through.
  std::filesystem::create_symlink(log, folder / "c.tar.gz.part");
  EXPECT_EQ(
      run_program("% bundle " + (folder / "run") + " --yes -o " + (folder / "c.tar.gz")).status, 0);
  EXPECT_EQ(test::content(log), before);
}

TEST(BundleCommand, LinksOutOfTheFolderAreNotFollowedUnlessAsked) {
  const Folder folder;
  folder.write("run/train.log", "step 1 | loss 2.5\nstep 2 | loss 2.4\n");
  folder.write("elsewhere/other.log", "step 1 | loss 7.5\nstep 2 | loss 7.4\n");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "run/outside");
  std::filesystem::create_directory_symlink("/proc/self", folder / "run/kernel");
  const Said said = run_program("% diagnose --json " + (folder / "run"));
  EXPECT_THAT(said.out, Not(HasSubstr("other.log")));
  EXPECT_THAT(said.out, HasSubstr("--follow"));
  const Said followed = run_program("% diagnose --json --follow " + (folder / "run"));
  EXPECT_THAT(followed.out, HasSubstr("other.log"));
  EXPECT_THAT(followed.out, Not(HasSubstr("kernel/status")));
}

TEST(BundleCommand, SaysWhyItCannotWrite) {
  const Folder folder;
  const std::string log = folder.write("train.log", "step 1 | loss 2.5\n");
  const Said said = run_program("% bundle " + log + " --yes -o /nowhere/out.tar.gz");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("/nowhere/out.tar.gz"));
}

TEST(BundleCommand, NamesThatAreNotAsciiAndHiddenOnesAreKept) {
  const Folder folder;
  folder.write("run/\xE8\xAE\xAD\xE7\xBB\x83-\xC3\xBC.log",
               "step 1 | loss 2.5\nstep 2 | loss 2.4\n");
  folder.write("run/a\xFF\x01.log", "step 1 | loss 2.5\nstep 2 | loss 2.4\n");
  const std::string out = folder / "b.tar.gz";
  for (const char* locale : {"C", "C.UTF-8"}) {
    const Said packed = run_program("LC_ALL=" + std::string(locale) + " % bundle " +
                                    (folder / "run") + " --yes -o " + out);
    EXPECT_EQ(packed.status, 0) << locale << packed.error;
    const Said listed = run_program("tar tzf " + out + " --quoting-style=literal");
    EXPECT_THAT(listed.out, HasSubstr("\xE8\xAE\xAD\xE7\xBB\x83-\xC3\xBC.log")) << locale;
    EXPECT_THAT(listed.out, HasSubstr("a\xEF\xBF\xBD .log")) << locale;
  }
}

}  // namespace
}  // namespace aplomb::cli
