#include "checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

// FIPS 180-4: the digests of "abc" and of nothing.
constexpr const char* k_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* k_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::vector<std::string> texts(const std::vector<tensors::Finding>& found) {
  std::vector<std::string> out;
  for (const tensors::Finding& each : found) {
    EXPECT_EQ(each.kind, "checkpoint.altered");
    EXPECT_EQ(each.severity, core::Severity::failed);
    out.push_back(each.text);
  }
  return out;
}

TEST(Manifest, HashesEveryFileBelowAFolderByName) {
  const test::Folder folder;
  folder.write("c/model.bin", "abc");
  folder.write("c/part/empty", "");
  const auto files = hash_files(folder / "c", {}, 2);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "model.bin");
  EXPECT_EQ(files[0].sha256, k_abc);
  EXPECT_EQ(files[1].name, "part/empty");
  EXPECT_EQ(files[1].sha256, k_nothing);
  EXPECT_EQ(hash_files(folder / "c/model.bin", {}, 1).at(0).name, "model.bin");
}

TEST(Manifest, IsWhatSha256sumChecksAndReadsWhatSha256sumWrites) {
  const test::Folder folder;
  folder.write("c/model.bin", "abc");
  folder.write("c/a\\odd\nname", "x");
  folder.write("m", manifest_text(hash_files(folder / "c", {}, 1)));
  const std::string go = "cd " + (folder / "c") + " && ";
  EXPECT_EQ(std::system((go + "sha256sum -c --status --strict ../m").c_str()), 0);
  EXPECT_EQ(std::system((go + "sha256sum ./* > ../theirs").c_str()), 0);
  const auto theirs = read_manifest(test::content(folder / "theirs"), "theirs");
  ASSERT_TRUE(theirs);
  EXPECT_TRUE(
      compare_with_manifest(folder / "c", *theirs, hash_files(folder / "c", {}, 1)).empty());
}

TEST(Manifest, TellsOfWhatWasAlteredRemovedAndAdded) {
  const test::Folder folder;
  folder.write("c/a", "1");
  folder.write("c/b", "2");
  folder.write("c/same", "3");
  const auto recorded = read_manifest(manifest_text(hash_files(folder / "c", {}, 1)), "m");
  ASSERT_TRUE(recorded);
  folder.write("c/a", "9");
  std::filesystem::remove(folder / "c/b");
  folder.write("c/new.pt", "4");
  EXPECT_THAT(
      texts(compare_with_manifest(folder / "c", *recorded, hash_files(folder / "c", {}, 1))),
      ::testing::ElementsAre(HasSubstr("a has other bytes"), HasSubstr("b is in the manifest"),
                             HasSubstr("new.pt is not in the manifest")));
}

TEST(Manifest, FollowsNoLinkOutOfTheFolderAndLeavesItselfOut) {
  const test::Folder folder;
  folder.write("outside", "secret");
  folder.write("c/a", "1");
  folder.write("c/MANIFEST", "...");
  std::filesystem::create_symlink("../outside", folder / "c/link");
  std::filesystem::create_symlink("a", folder / "c/inside");
  const auto files = hash_files(folder / "c", folder / "c/MANIFEST", 1);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[1].sha256, files[0].sha256);
  EXPECT_EQ(files[2].sha256, "");
  EXPECT_THAT(files[2].why, HasSubstr("leads out"));
}

TEST(Manifest, RefusesWhatIsNone) {
  EXPECT_FALSE(read_manifest("", "m"));
  EXPECT_FALSE(read_manifest("hello\n", "m"));
  EXPECT_FALSE(read_manifest(std::string(k_abc).substr(1) + "  a\n", "m"));
  const auto bad = read_manifest(std::string(k_abc) + "  a\n" + k_abc + "\n", "m");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().text, HasSubstr("line 2"));
  EXPECT_TRUE(read_manifest(std::string(k_abc) + " *a b\r\n", "m"));
}

}  // namespace
}  // namespace aplomb::checkpoint
