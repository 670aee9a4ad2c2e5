#include "checkpoint/tensor_shard.h"

#include <gtest/gtest.h>

#include <memory>

namespace aplomb::checkpoint {
namespace {

/// A part of an arange of this shape, as floats that live in `held`.
tensors::Tensor part_of(std::vector<std::vector<float>>& held, std::vector<std::int64_t> size,
                        tensors::TensorShard shard) {
  tensors::Tensor part;
  part.name = "w";
  part.type = tensors::element_type("F32");
  part.count = *tensors::count_of(size);
  part.shape = std::move(size);
  part.mapped = false;
  held.emplace_back(part.count, static_cast<float>(held.size()));
  part.bytes = std::as_bytes(std::span(held.back()));
  part.shard = std::make_shared<const tensors::TensorShard>(std::move(shard));
  return part;
}

TEST(TensorShards, AStridedCutIsMadeWithinWhatTheLaterMeshAxisLeaves) {
  // FSDP over tensor parallelism, both along axis 0 of 8: rank (dp, tp) holds rows 4 tp + 2 dp.
  std::vector<std::vector<float>> held;
  held.reserve(4);
  std::vector<tensors::Tensor> parts;
  for (std::int64_t dp = 0; dp < 2; ++dp) {
    for (std::int64_t tp = 0; tp < 2; ++tp) {
      tensors::TensorShard shard{std::vector<std::int64_t>{8}, {}, {{0, true, dp}, {0, false, tp}}};
      parts.push_back(part_of(held, {2}, shard));
    }
  }
  std::string why;
  const tensors::Tensor whole = join_shards(std::move(parts), why);
  ASSERT_EQ(why, "");
  std::vector<float> got(8);
  ASSERT_TRUE(tensors::read_elements(whole, 0, std::span<float>(got)));
  EXPECT_EQ(got, (std::vector<float>{0, 0, 2, 2, 1, 1, 3, 3}));
}

TEST(TensorShards, PartsThatLieAboutTheirPlaceAreRefused) {
  using Numbers = std::vector<std::int64_t>;
  const tensors::TensorShard lies[] = {
      {Numbers{4}, Numbers{3}, {}},                        // leaves the tensor
      {Numbers{4}, Numbers{-1}, {}},                       // before it
      {Numbers{4}, Numbers{0, 0}, {}},                     // another number of axes
      {Numbers{1LL << 62, 1LL << 62}, Numbers{0, 0}, {}},  // larger than any memory
      {Numbers{4}, {}, {{0, false, 1LL << 62}}},           // a mesh of 2^62 ranks
      {{}, Numbers{9223372036854775807LL}, {}},            // ends beyond 64 bits
  };
  for (const tensors::TensorShard& lie : lies) {
    std::vector<std::vector<float>> held;
    held.reserve(1);
    std::vector<tensors::Tensor> parts;
    parts.push_back(part_of(held, {2}, lie));
    std::string why;
    const tensors::Tensor whole = join_shards(std::move(parts), why);
    EXPECT_NE(why, "");
    EXPECT_EQ(whole.source, nullptr);
  }
}

TEST(TensorShards, OnlyNamesWithARanksNumberAreRankFiles) {
  EXPECT_TRUE(is_rank_file("optimizer_0_rank3.bin"));
  EXPECT_TRUE(is_rank_file("pytorch_model_fsdp_0_rank12.bin"));
  EXPECT_FALSE(is_rank_file("optimizer_rank.bin"));
  EXPECT_FALSE(is_rank_file("pytorch_model.bin"));
  EXPECT_FALSE(is_rank_file("low_rank8_model.bin"));
}

}  // namespace
}  // namespace aplomb::checkpoint
