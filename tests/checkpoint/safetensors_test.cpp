#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using test::as_bytes;
using test::little;
using test::raw;
using test::safetensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

core::Result<SafetensorsFile> read(const std::string& file) {
  return read_safetensors(as_bytes(file), nullptr, "made");
}

std::vector<std::string> kinds(const SafetensorsFile& file) {
  std::vector<std::string> all;
  for (const tensors::Finding& each : file.findings.list()) all.push_back(each.kind);
  return all;
}

constexpr const char* k_two =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"I16","shape":[1,2],"data_offsets":[8,12]}})";

TEST(Safetensors, GivesTensorsInTheOrderOfTheirDataWithMetadata) {
  const std::string file =
      safetensors(k_two, raw<float>({1.5F, -2.0F}) + raw<std::int16_t>({7, 9}));
  const auto got = read(file);
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_THAT(kinds(*got), ElementsAre());
  EXPECT_EQ(got->metadata.at("format"), "pt");
  ASSERT_EQ(got->tensors.size(), 2U);
  EXPECT_EQ(got->tensors[0].name, "b");
  EXPECT_EQ(got->tensors[1].shape, (std::vector<std::int64_t>{1, 2}));
  std::array<double, 2> values{};
  ASSERT_TRUE(tensors::read_elements(got->tensors[0], 0, std::span<double>(values)));
  EXPECT_EQ(values[1], -2.0);
  ASSERT_TRUE(tensors::read_elements(got->tensors[1], 0, std::span<double>(values)));
  EXPECT_EQ(values[0], 7);
}

TEST(Safetensors, RefusesAHeaderLengthThatLies) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63U, ~std::uint64_t{0},
                                     std::uint64_t{100'000'001}, std::uint64_t{1000}}) {
    const auto got = read(little(length, 8) + "{}");
    ASSERT_FALSE(got.has_value()) << length;
    EXPECT_THAT(got.error().text, HasSubstr(std::to_string(length)));
  }
  EXPECT_FALSE(read("").has_value());
  EXPECT_FALSE(read("1234567").has_value());
}

struct Lie {
  const char* name;
  std::string header;
  std::size_t data;
  const char* kind;
  std::size_t tensors;  ///< that can still be read
};

class Lies : public ::testing::TestWithParam<Lie> {};

TEST_P(Lies, AreNamedAndTheOtherTensorsAreRead) {
  const auto got = read(safetensors(GetParam().header, std::string(GetParam().data, '\0')));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_THAT(kinds(*got), ::testing::Contains(GetParam().kind));
  EXPECT_EQ(got->tensors.size(), GetParam().tensors);
}

std::string entry(const char* name, const char* shape, const char* offsets,
                  const char* dtype = "F32") {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

INSTANTIATE_TEST_SUITE_P(
    Safetensors, Lies,
    ::testing::Values(
        Lie{"overlap", "{" + entry("a", "[2]", "[0,8]") + "," + entry("b", "[2]", "[4,12]") + "}",
            12, "checkpoint.overlap", 2},
        Lie{"gap", "{" + entry("a", "[1]", "[0,4]") + "," + entry("b", "[1]", "[8,12]") + "}", 12,
            "checkpoint.gap", 2},
        Lie{"tail", "{" + entry("a", "[1]", "[0,4]") + "}", 12, "checkpoint.gap", 1},
        Lie{"beyond", "{" + entry("a", "[1]", "[0,4]") + "," + entry("b", "[4]", "[4,20]") + "}",
            12, "checkpoint.truncated", 1},
        Lie{"backwards", "{" + entry("a", "[1]", "[0,4]") + "," + entry("b", "[1]", "[8,4]") + "}",
            4, "checkpoint.bad-offsets", 1},
        Lie{"count", "{" + entry("a", "[3]", "[0,8]") + "}", 8, "checkpoint.bad-offsets", 0},
        Lie{"overflow", "{" + entry("a", "[4294967296,4294967296,4294967296]", "[0,0]") + "}", 0,
            "checkpoint.bad-offsets", 0},
        Lie{"dtype", "{" + entry("a", "[1]", "[0,4]", "Q3_K") + "}", 4, "checkpoint.unsupported",
            0},
        Lie{"twice", "{" + entry("a", "[1]", "[0,4]") + "," + entry("a", "[1]", "[4,8]") + "}", 8,
            "checkpoint.duplicate-name", 1},
        Lie{"negative", "{" + entry("a", "[1]", "[0,4]") + "," + entry("b", "[-1]", "[4,8]") + "}",
            8, "checkpoint.bad-header", 1},
        Lie{"metadata",
            R"({"__metadata__":{"format":"pt","x":[[[[1]]]]},)" + entry("a", "[1]", "[0,4]") + "}",
            4, "checkpoint.bad-header", 1}),
    [](const auto& each) { return each.param.name; });

TEST(Safetensors, RefusesAHeaderThatIsTorn) {
  EXPECT_FALSE(read(safetensors("{" + entry("a", "[1]", "[0,4]") + R"(,"b":{"dtype":)", "1234")));
}

TEST(Safetensors, SubByteTypesTakeTheirBits) {
  const auto got = read(safetensors(R"({"a":{"dtype":"F4","shape":[6],"data_offsets":[0,3]}})",
                                    std::string(3, '\0')));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->tensors.size(), 1U);
  EXPECT_FALSE(tensors::scan_tensor(got->tensors[0]).has_value());
}

TEST(ShardIndex, NeverLeavesItsFolderAndNamesWhatIsMissing) {
  const test::Folder folder;
  folder.write("m/s1.safetensors",
               safetensors("{" + entry("a", "[1]", "[0,4]") + "}", raw<float>({1.0F})));
  folder.write("secret.safetensors",
               safetensors("{" + entry("x", "[1]", "[0,4]") + "}", raw<float>({1.0F})));
  folder.write(
      "m/model.safetensors.index.json",
      R"({"weight_map":{"a":"s1.safetensors","b":"s2.safetensors","x":"../secret.safetensors","y":"/etc/passwd"}})");
  const auto got = open_checkpoint(folder / "m");
  ASSERT_TRUE(got.has_value()) << got.error().text;
  ASSERT_EQ(got->tensors.size(), 1U);
  EXPECT_EQ(got->tensors[0].name, "a");
  std::size_t outside = 0;
  std::size_t missing = 0;
  for (const tensors::Finding& each : got->findings) {
    outside += each.kind == "checkpoint.bad-header" ? 1U : 0U;
    missing += each.kind == "checkpoint.incomplete" ? 1U : 0U;
  }
  EXPECT_EQ(outside, 2U);
  EXPECT_EQ(missing, 1U);
}

}  // namespace
}  // namespace aplomb::checkpoint
