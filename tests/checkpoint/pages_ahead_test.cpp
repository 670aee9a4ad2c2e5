#include "tensors/pages_ahead.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tensors/mapped_file.h"

namespace aplomb::tensors {
namespace {

constexpr std::size_t k_part = 100'000;  // not a multiple of pages
constexpr std::size_t k_parts = 3 * PagesAhead::k_ahead;

/// A mapped file whose part i is filled with the byte i.
class Pages : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("aplomb-pages-ahead-" + std::to_string(::getpid()));
    std::ofstream out(path_, std::ios::binary);
    for (std::size_t i = 0; i < k_parts; ++i) out << std::string(k_part, static_cast<char>(i));
    out.close();
    file_ = *tensors::MappedFile::open(path_.string());
    for (std::size_t i = 0; i < k_parts; ++i)
      parts_.push_back(file_->bytes().subspan(i * k_part, k_part));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static bool holds(std::span<const std::byte> part, std::size_t value) {
    for (const std::byte each : part) {
      if (each != static_cast<std::byte>(value)) return false;
    }
    return true;
  }

  std::filesystem::path path_;
  std::shared_ptr<const tensors::MappedFile> file_;
  std::vector<std::span<const std::byte>> parts_;
};

TEST_F(Pages, AReaderThatDropsWhatItHasReadSeesEveryPart) {
  PagesAhead ahead(parts_);
  for (std::size_t i = 0; i < k_parts; ++i) {
    ahead.reached(i);
    EXPECT_TRUE(holds(parts_[i], i)) << i;
    tensors::drop_pages(parts_[i]);
  }
}

TEST_F(Pages, AReaderMayStopAnywhereOrNeverBegin) {
  {
    const PagesAhead unused(parts_);
  }
  PagesAhead ahead(parts_);
  ahead.reached(5);
  EXPECT_TRUE(holds(parts_[5], 5));
}

TEST_F(Pages, AReaderMayLeap) {
  PagesAhead ahead(parts_);
  ahead.reached(k_parts - 1);
  EXPECT_TRUE(holds(parts_.back(), k_parts - 1));
}

TEST_F(Pages, NothingToReadIsFine) { const PagesAhead ahead({}); }

}  // namespace
}  // namespace aplomb::tensors
