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

TEST(BundleCommand, SaysWhyItCannotWrite) {
  const Folder folder;
  const std::string log = folder.write("train.log", "step 1 | loss 2.5\n");
  const Said said = run_program("% bundle " + log + " --yes -o /nowhere/out.tar.gz");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("/nowhere/out.tar.gz"));
}

}  // namespace
}  // namespace aplomb::cli
