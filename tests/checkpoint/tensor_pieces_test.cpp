#include "checkpoint/tensor_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace aplomb::checkpoint {
namespace {

/// A tensor whose elements count up, cut into boxes.
std::vector<TensorPiece> boxes(const std::vector<std::int64_t>& shape,
                               const std::vector<std::vector<std::int64_t>>& offsets,
                               const std::vector<std::vector<std::int64_t>>& sizes,
                               std::vector<std::vector<float>>& held) {
  std::vector<TensorPiece> pieces;
  held.resize(offsets.size());
  for (std::size_t p = 0; p < offsets.size(); ++p) {
    for (std::int64_t i = 0; i < sizes[p][0]; ++i) {
      for (std::int64_t j = 0; j < sizes[p][1]; ++j) {
        held[p].push_back(static_cast<float>((offsets[p][0] + i) * shape[1] + offsets[p][1] + j));
      }
    }
    tensors::Tensor data;
    data.type = tensors::element_type("F32");
    data.count = held[p].size();
    data.mapped = false;
    data.bytes = std::as_bytes(std::span(held[p]));
    pieces.push_back({offsets[p], sizes[p], data, 0});
  }
  return pieces;
}

TEST(TensorPieces, AnyPartOfTheTensorComesOutInOrder) {
  std::vector<std::vector<float>> held;
  std::string why;
  const tensors::Tensor tensor = join_pieces(
      "w", {4, 6}, boxes({4, 6}, {{0, 0}, {0, 4}, {3, 0}}, {{3, 4}, {3, 2}, {1, 6}}, held), false,
      why);
  ASSERT_EQ(why, "");
  std::vector<float> want(24);
  std::iota(want.begin(), want.end(), 0.0F);
  for (std::uint64_t from = 0; from < 24; ++from) {
    for (std::uint64_t count = 1; from + count <= 24; ++count) {
      std::vector<float> got(count);
      ASSERT_TRUE(tensors::read_elements(tensor, from, std::span<float>(got)));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin() + static_cast<long>(from)));
    }
  }
}

TEST(TensorPieces, HolesOverlapsAndBoxesThatLeaveTheTensorAreRefused) {
  using Boxes = std::vector<std::vector<std::int64_t>>;
  const std::vector<std::pair<Boxes, Boxes>> bad = {
      {{{0, 0}}, {{3, 6}}},                  // a row is missing
      {{{0, 0}, {0, 0}}, {{4, 6}, {1, 6}}},  // one row twice
      {{{1, 0}}, {{4, 6}}},                  // beyond the end
  };
  for (const auto& each : bad) {
    std::vector<std::vector<float>> held;
    std::string why;
    const tensors::Tensor tensor =
        join_pieces("w", {4, 6}, boxes({4, 6}, each.first, each.second, held), false, why);
    EXPECT_NE(why, "");
    EXPECT_FALSE(tensor.has_data());
    EXPECT_FALSE(tensors::scan_tensor(tensor).has_value());
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
