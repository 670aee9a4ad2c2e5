#include "checkpoint/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

using test::as_bytes;
using test::little;
using test::raw;
using ::testing::HasSubstr;

std::string text(const std::string& word) { return little(word.size(), 8) + word; }

struct Entry {
  std::string name;
  std::vector<std::uint64_t> dims;  ///< fastest first
  std::uint64_t type = 0;
  std::uint64_t offset = 0;
};

std::string gguf(const std::vector<Entry>& entries, const std::string& data,
                 const std::string& keys = {}, std::uint64_t count = 0) {
  std::string out = "GGUF" + little(3, 4) + little(entries.size(), 8) + little(count, 8) + keys;
  for (const Entry& each : entries) {
    out += text(each.name) + little(each.dims.size(), 4);
    for (const std::uint64_t dim : each.dims) out += little(dim, 8);
    out += little(each.type, 4) + little(each.offset, 8);
  }
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + data;
}

core::Result<GgufFile> read(const std::string& file) {
  return read_gguf(as_bytes(file), nullptr, "made");
}

TEST(Gguf, GivesShapesRowMajorAndPlainTypesAsTheyAre) {
  const std::string file = gguf(
      {{"w", {3, 2}, 0, 0}, {"h", {2}, 1, 32}},
      raw<float>({1, 2, 3, 4, 5, 6}) + std::string(8, '\0') + raw<std::uint16_t>({0x3C00, 0xC000}),
      text("general.architecture") + little(8, 4) + text("llama"), 1);
  const auto got = read(file);
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_TRUE(got->findings.list().empty());
  EXPECT_EQ(got->architecture, "llama");
  ASSERT_EQ(got->tensors.size(), 2U);
  EXPECT_EQ(got->tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tensors::scan_tensor(got->tensors[0])->sum, 21);
  EXPECT_EQ(tensors::scan_tensor(got->tensors[1])->sum, -1);
}

TEST(Gguf, WhatIsTooShortForAHeaderIsRefused) {
  for (const std::string& file : {std::string(), std::string("G"), std::string("GGUF\3\0\0\0", 8)})
    EXPECT_FALSE(read(file).has_value());
}

TEST(Gguf, AQuantisedBlockIsSizedAndABadScaleFound) {
  // Q8_0: an fp16 scale, then 32 signed bytes. The second block's scale is NaN.
  const std::string good = raw<std::uint16_t>({0x3C00}) + std::string(32, '\1');
  const std::string bad = raw<std::uint16_t>({0x7E00}) + std::string(32, '\1');
  const auto got = read(gguf({{"q", {64}, 8, 0}}, good + bad));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  ASSERT_EQ(got->tensors.size(), 1U);
  EXPECT_EQ(tensors::stored_bytes(got->tensors[0]), 68U);
  const auto scales = tensors::scan_tensor(got->tensors[0]);
  ASSERT_TRUE(scales.has_value());
  EXPECT_EQ(scales->count, 2U);
  EXPECT_EQ(scales->nan, 1U);
  EXPECT_EQ(scales->first_nonfinite, 1);
}

TEST(Gguf, LiesOfTheHeaderAreNamed) {
  const auto kinds = [](const std::string& file) {
    std::vector<std::string> all;
    const auto got = read(file);
    if (!got) return all;
    for (const tensors::Finding& each : got->findings.list()) all.push_back(each.kind);
    return all;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(kinds(gguf({{"w", {4}, 0, 0}}, "1234")), ElementsAre("checkpoint.truncated"));
  EXPECT_THAT(kinds(gguf({{"w", {1}, 0, ~std::uint64_t{0}}}, "1234")),
              ElementsAre("checkpoint.truncated"));
  EXPECT_THAT(kinds(gguf({{"w", {1}, 99, 0}}, "1234")), ElementsAre("checkpoint.unsupported"));
  EXPECT_THAT(kinds(gguf({{"w", {33}, 8, 0}}, std::string(99, 'x'))),
              ElementsAre("checkpoint.bad-offsets"));
  EXPECT_THAT(kinds(gguf({{"w", {std::uint64_t{1} << 40U, std::uint64_t{1} << 40U}, 0, 0}}, "")),
              ElementsAre("checkpoint.bad-offsets"));
  EXPECT_THAT(kinds(gguf({{"a", {2}, 0, 0}, {"b", {2}, 0, 4}}, std::string(12, '\0'))),
              ElementsAre("checkpoint.overlap"));
  EXPECT_THAT(kinds(gguf({{"a", {1}, 0, 0}, {"a", {1}, 0, 4}}, std::string(12, '\0'))),
              ElementsAre("checkpoint.duplicate-name"));
}

TEST(Gguf, ATornOrAbsurdHeaderIsRefusedInNoTime) {
  const std::string whole = gguf({{"w", {1}, 0, 0}}, "1234");
  for (std::size_t cut = 24; cut < 57; cut += 3) {
    const auto got = read(whole.substr(0, cut));
    ASSERT_FALSE(got.has_value()) << cut;
    EXPECT_THAT(got.error().text, HasSubstr("breaks off"));
  }
  EXPECT_FALSE(read("GGUF" + little(3, 4) + little(~std::uint64_t{0}, 8) + little(0, 8)));
  EXPECT_FALSE(read("GGUF" + little(1, 4) + little(0, 8) + little(0, 8)));
  // An array of 2^62 numbers, and arrays inside arrays for ever.
  std::string keys = text("k") + little(9, 4) + little(10, 4) + little(std::uint64_t{1} << 62U, 8);
  EXPECT_FALSE(read(gguf({}, "", keys, 1)));
  keys = text("k") + little(9, 4);
  for (int i = 0; i < 100; ++i) keys += little(9, 4) + little(1, 8);
  EXPECT_FALSE(read(gguf({}, "", keys, 1)));
}

TEST(Gguf, WhatItsOwnWriterMakesIsReadTensorForTensor) {
  const std::string python = test::python_with("gguf, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with the gguf package here";
  const test::Folder folder;
  const std::string script =
      "import gguf, numpy as np, sys\n"
      "w = gguf.GGUFWriter(sys.argv[1], 'llama')\n"
      "w.add_context_length(128); w.add_token_list(['a', 'b'])\n"
      "x = np.arange(128, dtype=np.float32).reshape(2, 64) / 8\n"
      "w.add_tensor('f32', x); w.add_tensor('f16', x.astype(np.float16))\n"
      "for t in ('Q8_0', 'Q4_0', 'Q5_1'):\n"
      "    q = getattr(gguf.GGMLQuantizationType, t)\n"
      "    w.add_tensor(t, gguf.quants.quantize(x, q), raw_dtype=q)\n"
      "w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()\n";
  const std::string file = folder / "made.gguf";
  ASSERT_EQ(
      std::system(fmt::format("{} {} {}", python, folder.write("w.py", script), file).c_str()), 0);
  const auto checkpoint = open_checkpoint(file);
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  EXPECT_TRUE(checkpoint->findings.empty());
  ASSERT_EQ(checkpoint->tensors.size(), 5U);
  for (const tensors::Tensor& tensor : checkpoint->tensors) {
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 64})) << tensor.name;
    const auto stats = tensors::scan_tensor(tensor);
    ASSERT_TRUE(stats.has_value()) << tensor.name;
    EXPECT_EQ(stats->nan + stats->inf, 0U);
  }
  EXPECT_EQ(tensors::scan_tensor(*checkpoint->tensor("f32"))->sum, 1016);
  EXPECT_EQ(tensors::scan_tensor(*checkpoint->tensor("Q8_0"))->count, 4U);
  EXPECT_EQ(tensors::stored_bytes(*checkpoint->tensor("Q5_1")), 4U * 24U);
}

}  // namespace
}  // namespace aplomb::checkpoint
