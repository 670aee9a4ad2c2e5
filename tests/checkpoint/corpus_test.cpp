// Real checkpoints of public repositories, where they lie beside the sources: each is read, or
// refused with the right reason.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {
namespace {

const std::filesystem::path k_corpus = APLOMB_SOURCE_DIR "/../shared/corpus/checkpoints";

/// `24 tensors F32, floats 589824, ...` -> 24; nothing where the row does not say.
std::optional<std::size_t> tensors_of(const std::string& reason) {
  const std::size_t at = reason.find(" tensors ");
  if (at == std::string::npos) return std::nullopt;
  return std::stoul(reason.substr(0, at));
}

TEST(CheckpointCorpus, EveryFileIsReadOrRefusedWithAReason) {
  std::ifstream index(k_corpus / "INDEX.tsv");
  if (!index) GTEST_SKIP() << "no corpus at " << k_corpus;
  std::string row;
  std::getline(index, row);
  std::size_t read = 0;
  while (std::getline(index, row)) {
    std::vector<std::string> cells;
    std::stringstream line(row);
    for (std::string cell; std::getline(line, cell, '\t');) cells.push_back(cell);
    ASSERT_GE(cells.size(), 7U);
    SCOPED_TRACE(cells[0]);
    const auto checkpoint = open_checkpoint((k_corpus / cells[0]).string());
    if (cells[3] == "keras-h5") {
      ASSERT_FALSE(checkpoint.has_value());
      EXPECT_EQ(checkpoint.error().code, core::ErrorCode::unsupported);
      continue;
    }
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    ASSERT_FALSE(checkpoint->files.empty());
    EXPECT_EQ(checkpoint->files[0].format, cells[3]);
    for (const tensors::Finding& each : checkpoint->findings) {
      // A class of the user's own project is on no list.
      if (each.kind == "pickle.suspicious") continue;
      EXPECT_EQ(each.severity, core::Severity::note) << each.kind << " " << each.text;
    }
    if (const auto count = tensors_of(cells[6])) {
      EXPECT_EQ(checkpoint->tensors.size(), *count);
    }
    for (const tensors::Tensor& tensor : checkpoint->tensors) {
      const auto stats = tensors::scan_tensor(tensor);
      if (!tensor.type->scalar) continue;  // U16, U32: states of random generators
      ASSERT_TRUE(stats.has_value()) << tensor.name;
      EXPECT_EQ(stats->nan + stats->inf, 0U) << tensor.name;
    }
    ++read;
  }
  EXPECT_GE(read, 20U);
}

}  // namespace
}  // namespace aplomb::checkpoint
