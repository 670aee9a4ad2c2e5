#include "train/loop/atomic_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/folder.h"

namespace aplomb::train::loop {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void put(const AtomicFolder& folder, const std::string& text) {
  for (const char* name : {"a", "b", "c"})
    ASSERT_TRUE(write_synced(folder.path() + "/" + name, text));
}

TEST(AtomicFolder, IsThereAfterTheCommitAndNotBefore) {
  const test::Folder place;
  auto folder = AtomicFolder::begin(place / "checkpoint-1/");
  ASSERT_TRUE(folder);
  put(*folder, "one");
  EXPECT_FALSE(fs::exists(place / "checkpoint-1"));
  ASSERT_TRUE(folder->commit());
  EXPECT_EQ(test::content(place / "checkpoint-1/b"), "one");
  EXPECT_EQ(std::distance(fs::directory_iterator(place / ""), {}), 1);
}

TEST(AtomicFolder, ReplacesAWholeFolderAndAnAbandonedOneLeavesNothing) {
  const test::Folder place;
  for (const char* text : {"one", "two"}) {
    auto folder = AtomicFolder::begin(place / "checkpoint-1");
    ASSERT_TRUE(folder);
    put(*folder, text);
    ASSERT_TRUE(folder->commit());
  }
  {
    auto folder = AtomicFolder::begin(place / "checkpoint-1");
    ASSERT_TRUE(folder);
    put(*folder, "three");
  }
  EXPECT_EQ(test::content(place / "checkpoint-1/c"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(place / ""), {}), 1);
}

/// A process that replaces the folder again and again is killed at any moment: what stands there is
/// one whole generation.
TEST(AtomicFolder, AKillAtAnyMomentLeavesAWholeOne) {
  const test::Folder place;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) {
        auto folder = AtomicFolder::begin(place / "checkpoint");
        if (!folder) ::_exit(1);
        for (const char* name : {"a", "b", "c"})
          (void)write_synced(folder->path() + "/" + name,
                             std::to_string(i) + std::string(50000, 'x'));
        (void)folder->commit();
      }
    }
    ::usleep(static_cast<useconds_t>(20000 + 7919 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(place / "checkpoint")) continue;  // killed before the first
    const std::string first = test::content(place / "checkpoint/a");
    EXPECT_GT(first.size(), 50000U);
    EXPECT_EQ(test::content(place / "checkpoint/b"), first);
    EXPECT_EQ(test::content(place / "checkpoint/c"), first);
  }
  EXPECT_TRUE(fs::exists(place / "checkpoint"));
  remove_unfinished(place / "");
  EXPECT_EQ(std::distance(fs::directory_iterator(place / ""), {}), 1);
}

TEST(AtomicFolder, AFullDiskIsToldAndTheEarlierFolderStays) {
  EXPECT_THAT(write_synced("/dev/full", "text").error().text,
              ::testing::AllOf(HasSubstr("/dev/full"), HasSubstr("the disk is full")));
  EXPECT_FALSE(AtomicFolder::begin("/proc/no/such"));
}

}  // namespace
}  // namespace aplomb::train::loop
