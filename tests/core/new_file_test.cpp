#include "core/new_file.h"
#include "core/folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace aplomb::core {
namespace {

namespace fs = std::filesystem;
using test::content;

TEST(NewFile, StandsWholeOrNotAtAll) {
  const fs::path folder = fs::temp_directory_path() / "aplomb-new-file-test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = folder / "a.txt";
  {
    auto file = NewFile::beside(path);
    ASSERT_TRUE(file.has_value()) << file.error().text;
    ASSERT_TRUE((*file)->write("half").has_value());
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder));
  auto file = NewFile::beside(path);
  ASSERT_TRUE((*file)->write("whole").has_value());
  ASSERT_TRUE((*file)->commit().has_value());
  EXPECT_EQ(content(path), "whole");
  fs::create_symlink("a.txt", folder / "link.txt");
  auto through = NewFile::beside(folder / "link.txt");
  ASSERT_TRUE((*through)->write("again").has_value());
  ASSERT_TRUE((*through)->commit().has_value());
  EXPECT_TRUE(fs::is_symlink(folder / "link.txt"));
  EXPECT_EQ(content(path), "again");
  EXPECT_FALSE(NewFile::beside("/nowhere/at/all").has_value());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace aplomb::core
