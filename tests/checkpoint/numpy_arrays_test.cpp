#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"
#include "made_torch.h"

namespace aplomb::checkpoint {
namespace {

using namespace std::string_literals;

std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  const std::string header =
      "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  return "\x93NUMPY\1\0"s + test::little(header.size(), 2) + header + data;
}

std::vector<std::string> kinds(const Checkpoint& of) {
  std::vector<std::string> all;
  for (const tensors::Finding& each : of.findings) all.push_back(each.kind);
  return all;
}

TEST(NumpyArrays, AnArrayIsATensor) {
  const test::Folder folder;
  const std::string data = test::raw<float>({1, 2, 3, 4, 5, 6});
  const auto plain = open_checkpoint(folder.write("w.npy", npy("'<f4'", "(2, 3)", data)));
  ASSERT_TRUE(plain.has_value()) << plain.error().text;
  ASSERT_EQ(plain->tensors.size(), 1U);
  EXPECT_EQ(plain->tensors[0].name, "w");
  EXPECT_EQ(plain->tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  std::vector<float> values(6);
  ASSERT_TRUE(tensors::read_elements(plain->tensors[0], 0, values));
  EXPECT_THAT(values, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  // By columns: the second element of the first row is the third that is stored.
  const auto columns = open_checkpoint(folder.write("c.npy", npy("'<f4'", "(2, 3)", data, "True")));
  ASSERT_TRUE(tensors::read_elements(columns->tensors[0], 0, values));
  EXPECT_THAT(values, ::testing::ElementsAre(1, 3, 5, 2, 4, 6));
  const auto one =
      open_checkpoint(folder.write("s.npy", npy("'<f4'", "(1,)", test::raw<float>({7}))));
  EXPECT_EQ(one->tensors.at(0).count, 1U);
  EXPECT_TRUE(one->findings.empty());
}

TEST(NumpyArrays, AnArchiveOfThemIsReadAndTextsAreNoTensors) {
  const test::Folder folder;
  const auto got = open_checkpoint(
      folder.write("many.npz", test::zip({{"a.npy", npy("'<f4'", "(1,)", test::raw<float>({1}))},
                                          {"b.npy", npy("'<U1'", "(1,)", "x\0\0\0"s)}})));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  ASSERT_EQ(got->tensors.size(), 1U);
  EXPECT_EQ(got->tensors[0].name, "a");
  EXPECT_TRUE(got->findings.empty());
}

TEST(NumpyArrays, WhatRunsInAnArrayOfObjectsIsTold) {
  const test::Folder folder;
  const std::string evil = "\x80\2cos\nsystem\n(X\4\0\0\0truetR."s;
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"o.npy", npy("'|O'", "(1,)", evil)},
           {"o.npz", test::zip({{"a.npy", npy("'|O'", "(1,)", evil)}})}}) {
    const auto got = open_checkpoint(folder.write(name, bytes));
    ASSERT_TRUE(got.has_value()) << name;
    EXPECT_THAT(kinds(*got), ::testing::Contains("pickle.dangerous")) << name;
  }
}

TEST(NumpyArrays, WhatIsNotReadIsToldAndNotPassedOver) {
  const test::Folder folder;
  const auto got = open_checkpoint(folder.write("w.npy", npy("'>f4'", "(1,)", "1234")));
  ASSERT_TRUE(got.has_value());
  EXPECT_THAT(kinds(*got), ::testing::Contains("checkpoint.unsupported"));
}

TEST(NumpyArrays, SizesThatLieAreFindings) {
  const test::Folder folder;
  for (const auto& [shape, kind] : std::vector<std::pair<std::string, std::string>>{
           {"(3,)", "checkpoint.truncated"},
           {"(4294967296, 4294967296, 4294967296)", "checkpoint.bad-offsets"},
           {"(-1,)", "checkpoint.bad-header"},
           {"(1", "checkpoint.bad-header"},
           {"(1 1)", "checkpoint.bad-header"}}) {
    const auto got = open_checkpoint(folder.write("w.npy", npy("'<f4'", shape, "1234")));
    ASSERT_TRUE(got.has_value()) << shape;
    EXPECT_THAT(kinds(*got), ::testing::Contains(kind)) << shape;
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
