// Files that are cut, grow or vanish while they are read: a finding, and the process lives on.

#include "checkpoint/changed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "checkpoint/tensor_diff.h"
#include "checkpoint/tensor_survey.h"
#include "core/folder.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

void on_bus_error(int number, siginfo_t* about, void* /*context*/) {
  if (!tensors::replace_lost_page(about->si_addr)) std::signal(number, SIG_DFL);
}

/// The handler that the program installs.
class ChangedFiles : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before_);
  }
  void TearDown() override { sigaction(SIGBUS, &before_, nullptr); }

  /// A tensor of so many ones.
  std::string weights(const std::string& name, std::uint64_t count) const {
    const std::string head = R"({"model.w.weight":{"dtype":"F32","shape":[)" +
                             std::to_string(count) + R"(],"data_offsets":[0,)" +
                             std::to_string(4 * count) + "]}}";
    const std::uint64_t size = head.size();
    std::string text(reinterpret_cast<const char*>(&size), sizeof size);
    text += head;
    const float one = 1;
    for (std::uint64_t i = 0; i < count; ++i)
      text.append(reinterpret_cast<const char*>(&one), sizeof one);
    return folder_.write(name, text);
  }

  test::Folder folder_;
  struct sigaction before_{};
};

constexpr std::uint64_t k_count = 1U << 20U;

TEST_F(ChangedFiles, AMappingThatIsCutReadsAsZerosFromThereOn) {
  const std::string path = folder_.write("a.bin", std::string(1U << 20U, 'x'));
  const auto mapped = tensors::MappedFile::open(path);
  ASSERT_TRUE(mapped);
  fs::resize_file(path, 100000);
  const std::string_view text = (*mapped)->text();
  EXPECT_EQ(text[0], 'x');
  EXPECT_EQ(text[99999], 'x');
  EXPECT_EQ(text[500000], '\0');
  EXPECT_EQ(text[text.size() - 1], '\0');
  EXPECT_EQ(text[200000], '\0') << "before what was touched first";
  const auto lost = tensors::lost_files();
  const auto own = std::find_if(lost.begin(), lost.end(),
                                [&](const tensors::LostFile& each) { return each.path == path; });
  ASSERT_NE(own, lost.end());
  EXPECT_LE(own->from, 200000U);
  EXPECT_EQ(own->bytes, 1U << 20U);
}

TEST_F(ChangedFiles, AnAddressOfNobodyIsNotTaken) {
  int here = 0;
  EXPECT_FALSE(tensors::replace_lost_page(&here));
  EXPECT_FALSE(tensors::replace_lost_page(nullptr));
}

TEST_F(ChangedFiles, OfManyMappingsOnlyTheCutOneLosesBytes) {
  std::vector<std::shared_ptr<const tensors::MappedFile>> files;
  for (int i = 0; i < 50; ++i) {
    const std::string path =
        folder_.write("m" + std::to_string(i), std::string(20000, static_cast<char>('a' + i % 26)));
    files.push_back(*tensors::MappedFile::open(path));
    if (i % 3 == 0) files.erase(files.begin());  // places in the table are used again
  }
  fs::resize_file(files.back()->path(), 0);
  EXPECT_EQ(files.back()->text()[10000], '\0');
  for (std::size_t i = 0; i + 1 < files.size(); ++i) EXPECT_NE(files[i]->text()[19999], '\0');
}

TEST_F(ChangedFiles, ACheckpointThatIsCutWhileItIsScannedIsAFinding) {
  const std::string path = weights("cut.safetensors", k_count);
  auto opened = open_checkpoint(path);
  ASSERT_TRUE(opened);
  EXPECT_THAT(changed_files(*opened), testing::IsEmpty());
  fs::resize_file(path, 1U << 20U);
  for (const int threads : {1, 4}) {
    SurveyOptions options;
    options.threads = threads;
    survey(*opened, options);
  }
  const auto found = changed_files(*opened);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, "checkpoint.lost");
  EXPECT_EQ(found[0].severity, core::Severity::failed);
  EXPECT_LE(found[0].offset, (1U << 20U) + 4096U);
  EXPECT_EQ(found[1].kind, "checkpoint.changed");
}

TEST_F(ChangedFiles, ADiffOfACheckpointThatIsCutIsAFinding) {
  const std::string before = weights("a.safetensors", k_count);
  const std::string after = weights("b.safetensors", k_count);
  auto a = open_checkpoint(before);
  auto b = open_checkpoint(after);
  ASSERT_TRUE(a && b);
  fs::resize_file(after, 5000);
  DiffOptions options;
  options.threads = 4;
  const CheckpointDiff diff = diff_checkpoints(*a, *b, options);
  EXPECT_EQ(diff.tensors.size(), 1U);
  EXPECT_THAT(changed_files(*a), testing::IsEmpty());
  EXPECT_EQ(changed_files(*b).front().kind, "checkpoint.lost");
}

TEST_F(ChangedFiles, AFileThatGrowsIsTold) {
  const std::string path = weights("grow.safetensors", 1000);
  auto opened = open_checkpoint(path);
  ASSERT_TRUE(opened);
  std::ofstream(path, std::ios::app) << "more";
  const auto found = changed_files(*opened);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "checkpoint.changed");
  EXPECT_THAT(found[0].text, testing::HasSubstr("changed while it was read"));
}

TEST_F(ChangedFiles, AFileThatIsReplacedIsReadAsItWas) {
  const std::string path = weights("swap.safetensors", 4096);
  auto opened = open_checkpoint(path);
  ASSERT_TRUE(opened);
  fs::rename(folder_.write("new", "short"), path);
  const Survey seen = survey(*opened);
  ASSERT_TRUE(seen.tensors.front().stats);
  EXPECT_EQ(seen.tensors.front().stats->sum, 4096);
  EXPECT_EQ(changed_files(*opened).front().kind, "checkpoint.changed");
}

TEST_F(ChangedFiles, AFileThatVanishesIsTold) {
  const std::string path = weights("gone.safetensors", 100);
  auto opened = open_checkpoint(path);
  ASSERT_TRUE(opened);
  fs::remove(path);
  EXPECT_THAT(changed_files(*opened).front().text, testing::HasSubstr("is gone"));
}

}  // namespace
}  // namespace aplomb::checkpoint
