// Exploits and honest files as Python itself writes them, against what is said of them.

#include "checkpoint/folder_audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<tensors::Finding>& all, std::string_view kind) {
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.kind == kind; });
}

TEST(FolderAudit, NoExploitOfTheZooIsCalledSafe) {
  const std::string python = test::python_with("torch");
  if (python.empty()) GTEST_SKIP() << "no Python with torch here";
  const test::Folder folder;
  ASSERT_TRUE(test::run_script(python, "pickle_zoo.py", folder / "zoo"));
  std::size_t seen = 0;
  std::size_t dangerous = 0;
  for (const auto& each : fs::directory_iterator(folder / "zoo/exploits")) {
    SCOPED_TRACE(each.path());
    const auto got = open_checkpoint(each.path().string());
    ASSERT_TRUE(got.has_value()) << got.error().text;
    const bool bad = has(got->findings, "pickle.dangerous");
    EXPECT_TRUE(bad || has(got->findings, "pickle.suspicious") ||
                has(got->findings, "pickle.inconclusive"));
    dangerous += bad ? 1U : 0U;
    ++seen;
  }
  EXPECT_GE(seen, 250U);
  EXPECT_GE(dangerous, 240U);
  EXPECT_FALSE(fs::exists(folder / "zoo/ran"));
}

TEST(FolderAudit, HonestFilesAreNotCalledDangerous) {
  const std::string python = test::python_with("torch, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with torch here";
  const test::Folder folder;
  ASSERT_TRUE(
      test::run_script(python, "make_benign.py", folder / "honest", "numpy python transformers"));
  std::size_t seen = 0;
  std::size_t told = 0;
  for (const auto& each : fs::recursive_directory_iterator(folder / "honest")) {
    std::vector<tensors::Finding> found;
    ++seen;
    if (audit_file(each.path().string(), found).value_or(false)) {
      ++told;
      EXPECT_FALSE(has(found, "pickle.dangerous")) << found.front().path << found.front().text;
    }
  }
  EXPECT_GE(seen, 100U);
  EXPECT_LE(told * 50, seen);
}

TEST(FolderAudit, EveryFileOfAFolderIsLookedAt) {
  const test::Folder folder;
  folder.write("run/model.safetensors",
               test::safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                 std::string(4, '\1')));
  folder.write("run/sub/notes.dat", "cos\nsystem\n(S'true'\ntR.");
  const auto got = open_checkpoint(folder / "run");
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_TRUE(has(got->findings, "pickle.dangerous"));
}

TEST(FolderAudit, AFolderOfNothingButAPickleIsJudged) {
  const test::Folder folder;
  folder.write("run/extra.pkl", "cos\nsystem\n(S'true'\ntR.");
  const auto got = open_checkpoint(folder / "run");
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_TRUE(has(got->findings, "pickle.dangerous"));
}

TEST(FolderAudit, WhatIsNotLookedAtIsNotCalledHarmless) {
  const test::Folder folder;
  folder.write("run/model.safetensors",
               test::safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                 std::string(4, '\1')));
  folder.write("run/1/2/3/4/5/6/7/8/9/10/deep.pkl", "cos\nsystem\n(S'true'\ntR.");
  const auto got = open_checkpoint(folder / "run");
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_TRUE(has(got->findings, "pickle.inconclusive"));
  std::vector<tensors::Finding> found;
  EXPECT_FALSE(audit_file(folder / "run/nothing.pkl", found).has_value());
}

}  // namespace
}  // namespace aplomb::checkpoint
