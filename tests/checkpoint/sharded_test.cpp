// What torch's writers leave of a model that is spread over ranks: written just now by four ranks,
// and put together again tensor for tensor.

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/precision.h"
#include "checkpoint/tensor_shard.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void expect_every_layout(const std::string& made, const Json& all) {
  for (const auto& [name, said] : all.items()) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    test::expect_whole(*checkpoint, said);
    EXPECT_EQ(checkpoint->tensors.size(), said["weights"].size());
  }
  EXPECT_EQ(all.size(), 7U);
}

void expect_groups(const std::string& made) {
  for (const char* name : {"fsdp", "accelerate", "pickled"}) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(checkpoint.has_value());
    ASSERT_TRUE(checkpoint->optimizer.has_value());
    EXPECT_EQ(checkpoint->optimizer->groups.at(0).numbers.at("weight_decay"), 0.1);
    EXPECT_EQ(checkpoint->optimizer->groups.at(0).numbers.at("beta2"), 0.999);
    const Precision precision = predict_precision(*checkpoint);
    EXPECT_EQ(precision.tensors.size(), 5U) << precision.why_not;
    EXPECT_TRUE(precision.certain);
  }
  EXPECT_EQ(open_checkpoint(made + "/fsdp")->step(), 3);
}

void expect_missing_ranks_said(const std::string& made) {
  const std::pair<const char*, const char*> gone[] = {
      {"fsdp", "__1_0.distcp"},
      {"laid", "pytorch_model_fsdp_0_rank2.bin"},
      {"sharded", "pytorch_model_fsdp_0_rank3.bin"},
      {"blocks", "shard-00002-model-00001-of-00001.safetensors"},
  };
  for (const auto& [name, file] : gone) {
    SCOPED_TRACE(name);
    fs::remove(fs::path(made) / name / file);
    const auto torn = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(torn.has_value());
    ASSERT_FALSE(torn->findings.empty());
    EXPECT_EQ(torn->findings[0].kind, "checkpoint.incomplete") << torn->findings[0].text;
    for (const tensors::Tensor& tensor : torn->tensors) tensors::scan_tensor(tensor);
  }
}

void expect_parts_of_one_rank(const std::string& made) {
  const auto part = open_checkpoint(made + "/laid/pytorch_model_fsdp_0_rank1.bin");
  ASSERT_TRUE(part.has_value());
  const tensors::Tensor* both = part->tensor("both");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->shape, (std::vector<std::int64_t>{3, 5}));
  EXPECT_TRUE(tensors::scan_tensor(*both).has_value());
  ASSERT_EQ(part->findings.size(), 1U);
  EXPECT_EQ(part->findings[0].kind, "checkpoint.partial");
  EXPECT_EQ(part->findings[0].severity, core::Severity::note);
}

// One test, so that four ranks write once: CTest runs every test in a process of its own.
TEST(Sharded, EveryLayoutIsReadTensorForTensorAndRanksThatAreMissingAreSaid) {
  const std::string python = test::python_with("torch.distributed.fsdp, safetensors, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with torch here";
  const test::TempFolder folder;
  const std::string made = folder / "made";
  ASSERT_TRUE(test::run_script(python, "make_sharded.py", made));
  expect_every_layout(made, test::json_of(made + "/expected.json"));
  expect_groups(made);
  expect_parts_of_one_rank(made);
  expect_missing_ranks_said(made);
}

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
