#include "checkpoint/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using numerics::Format;
using test::content;
using ::testing::HasSubstr;

std::string bf16(std::initializer_list<float> values) {
  std::string out;
  for (const float each : values) out += test::little(bf16_of(each), 2);
  return out;
}

/// A folder with two shards of bf16, their index, and what stands beside them.
void make_sharded(const test::Folder& folder) {
  folder.write(
      "c/model-00001-of-00002.safetensors",
      test::safetensors(
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2],)"
          R"("data_offsets":[0,4]},"ids":{"dtype":"I64","shape":[1],"data_offsets":[4,12]}})",
          bf16({1.0F, -0.5F}) + test::little(7, 8)));
  folder.write("c/model-00002-of-00002.safetensors",
               test::safetensors(R"({"b":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}})",
                                 bf16({3.0F, 65536.0F, 1e-20F})));
  folder.write(
      "c/model.safetensors.index.json",
      R"({"metadata":{"total_size":18},"weight_map":{"a":"model-00001-of-00002.safetensors",)"
      R"("ids":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})");
  folder.write("c/config.json", R"({"torch_dtype": "bfloat16", "hidden_size": 2})");
  folder.write("c/optimizer.pt", "as it is");
  folder.write("c/pytorch_model.bin", "the same in its old format");
}

TEST(Convert, SixteenBitsAreThoseOfTheReference) {
  std::mt19937 chance(7);  // NOLINT: the same values each time
  for (int i = 0; i < 2'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(chance()));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(numerics::decode(Format::bf16, bf16_of(value))));
      EXPECT_TRUE(std::isnan(numerics::decode(Format::fp16, fp16_of(value))));
      continue;
    }
    ASSERT_EQ(bf16_of(value), numerics::encode(Format::bf16, value)) << value;
    ASSERT_EQ(fp16_of(value), numerics::encode(Format::fp16, value)) << value;
  }
  for (const float value : {0.0F, -0.0F, 65504.0F, 65519.9F, 65520.0F, 6e-8F, 3e-8F, 2.98e-8F,
                            6.1035e-5F, 6.09e-5F, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(fp16_of(value), numerics::encode(Format::fp16, value)) << value;
}

TEST(Convert, AFolderOfShardsBecomesOneOfMastersThatOpens) {
  const test::Folder folder;
  make_sharded(folder);
  const auto done = convert_checkpoint(folder / "c", folder / "wide", {});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(done->weight_files, 2U);
  EXPECT_EQ(done->tensors, 2U);
  EXPECT_EQ(done->left, 1U);
  EXPECT_EQ(done->bytes_before, 18U);
  EXPECT_EQ(done->bytes_after, 28U);
  EXPECT_THAT(done->left_out, ::testing::ElementsAre("pytorch_model.bin"));
  const auto opened = open_checkpoint(folder / "wide");
  ASSERT_TRUE(opened);
  ASSERT_NE(opened->tensor("b"), nullptr);
  std::array<float, 3> values{};
  EXPECT_TRUE(tensors::read_elements(*opened->tensor("b"), 0, values));
  EXPECT_EQ(values[0], 3.0F);
  EXPECT_EQ(values[1], 65536.0F);
  EXPECT_EQ(bf16_of(values[2]), bf16_of(1e-20F));
  EXPECT_EQ(opened->tensor("ids")->type->name, "I64");
  const auto index = nlohmann::json::parse(content(folder / "wide/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 28);
  EXPECT_EQ(index["weight_map"]["b"], "model-00002-of-00002.safetensors");
  EXPECT_EQ(nlohmann::json::parse(content(folder / "wide/config.json"))["torch_dtype"], "float32");
  EXPECT_EQ(content(folder / "wide/optimizer.pt"), "as it is");
}

TEST(Convert, ThereAndBackGivesTheSameBytes) {
  const test::Folder folder;
  make_sharded(folder);
  ASSERT_TRUE(convert_checkpoint(folder / "c", folder / "wide", {Format::fp32}));
  ASSERT_TRUE(convert_checkpoint(folder / "wide", folder / "back", {Format::bf16}));
  const std::string name = "model-00002-of-00002.safetensors";
  const std::string before = content(folder / ("c/" + name));
  const std::string after = content(folder / ("back/" + name));
  EXPECT_EQ(before.substr(before.size() - 6), after.substr(after.size() - 6));
}

TEST(Convert, AValueBeyondTheFormatIsRefusedAndLeavesNothing) {
  const test::Folder folder;
  make_sharded(folder);
  const auto done = convert_checkpoint(folder / "c", folder / "half", {Format::fp16});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("1 values of b"));
  EXPECT_TRUE(fs::is_empty(folder / "half"));
}

TEST(Convert, NothingThatIsThereIsWritten) {
  const test::Folder folder;
  make_sharded(folder);
  folder.write("there.safetensors", "x");
  const std::string file = folder / "c/model-00002-of-00002.safetensors";
  fs::create_directory_symlink("c", folder / "link");
  for (const auto& [in, out] :
       std::vector<std::pair<std::string, std::string>>{{folder / "c", folder / "c"},
                                                        {folder / "c", folder / "c/inside"},
                                                        {folder / "c", folder / "link/inside"},
                                                        {file, file},
                                                        {file, folder / "there.safetensors"}}) {
    EXPECT_FALSE(convert_checkpoint(in, out, {})) << in << " " << out;
  }
  EXPECT_EQ(content(folder / "there.safetensors"), "x");
  EXPECT_TRUE(convert_checkpoint(file, folder / "one.safetensors", {}));
}

TEST(Convert, SaysWhatToDoWithOtherFormatsAndRefusesDamage) {
  const test::Folder folder;
  folder.write("pickled/pytorch_model.bin", "x");
  const auto pickled = convert_checkpoint(folder / "pickled", folder / "out", {});
  ASSERT_FALSE(pickled);
  EXPECT_EQ(pickled.error().code, core::ErrorCode::unsupported);
  EXPECT_THAT(pickled.error().text, HasSubstr("save_pretrained"));
  const std::string torn = folder.write(
      "torn.safetensors",
      test::safetensors(R"({"b":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}})", "1234"));
  EXPECT_FALSE(convert_checkpoint(torn, folder / "out.safetensors", {}));
  EXPECT_FALSE(fs::exists(folder / "out.safetensors"));
  make_sharded(folder);
  fs::remove(folder / "c/model-00002-of-00002.safetensors");
  EXPECT_FALSE(convert_checkpoint(folder / "c", folder / "short", {}));
  EXPECT_TRUE(fs::is_empty(folder / "short"));
  folder.write("elsewhere.safetensors", "x");
  folder.write("c/model.safetensors.index.json",
               R"({"weight_map":{"b":"../elsewhere.safetensors"}})");
  EXPECT_FALSE(convert_checkpoint(folder / "c", folder / "short", {}));
}

}  // namespace
}  // namespace aplomb::checkpoint
