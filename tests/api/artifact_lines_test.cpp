#include "api/artifact_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace aplomb::api {
namespace {

class ArtifactLinesTest : public ::testing::Test {
 protected:
  ArtifactLinesTest() {
    folder_ = std::filesystem::temp_directory_path() /
              ("aplomb-lines-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~ArtifactLinesTest() override {
    std::error_code no_throw;
    std::filesystem::remove_all(folder_, no_throw);
  }
  record::Source write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return {(folder_ / name).string(), "text_log", text.size(), ""};
  }
  std::filesystem::path folder_;
  ArtifactLines lines_;
};

TEST_F(ArtifactLinesTest, GivesTheLineOfAByteWhereverInItTheByteLies) {
  const record::Source source = write("a.log", "first\nsecond line\nthird\n");
  for (const std::uint64_t offset : {6U, 10U, 16U}) {
    EXPECT_EQ(lines_.line_at(source, {0, 2, offset}), "second line");
  }
  EXPECT_EQ(lines_.line_at(source, {0, 1, 0}), "first");
  EXPECT_EQ(lines_.line_at(source, {0, 3, 18}), "third");
}

TEST_F(ArtifactLinesTest, TakesARewrittenProgressBarForALine) {
  const record::Source source = write("bar.log", " 1%|x\r 2%|loss nan\r 3%|\n");
  EXPECT_EQ(lines_.line_at(source, {0, 1, 8}), " 2%|loss nan");
}

TEST_F(ArtifactLinesTest, ReadsABoundedPieceOfALineWithoutEnd) {
  const record::Source source =
      write("long.log", std::string(100000, 'a') + "HERE" + std::string(100000, 'b'));
  const std::string line = lines_.line_at(source, {0, 1, 100000});
  EXPECT_THAT(line, ::testing::HasSubstr("HERE"));
  EXPECT_EQ(line.size(), ArtifactLines::k_before + ArtifactLines::k_after);
}

TEST_F(ArtifactLinesTest, IsEmptyForBinaryArtifactsPlacesBeyondTheEndAndFilesThatAreGone) {
  const record::Source binary = write("events.out", std::string("ab\0cd\n", 6));
  EXPECT_EQ(lines_.line_at(binary, {0, 1, 1}), "");
  EXPECT_EQ(lines_.line_at(binary, {0, 1, 600}), "");
  EXPECT_EQ(lines_.line_at({"/nowhere/x.log", "text_log", 9, ""}, {0, 1, 1}), "");
  EXPECT_EQ(lines_.line_at({folder_.string(), "text_log", 9, ""}, {0, 1, 1}), "");
}

TEST_F(ArtifactLinesTest, CountsBytesOfWhatACompressedArtifactHolds) {
  const std::string path = (folder_ / "a.log.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = std::string(300, '-') + "\nthe line\nafter it\n";
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(lines_.line_at({path, "text_log", 60, ""}, {0, 2, 301}), "the line");
}

}  // namespace
}  // namespace aplomb::api
