#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"
#include "made_torch.h"

namespace aplomb::checkpoint {
namespace {

using namespace std::string_literals;

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 128, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT: zlib
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());  // NOLINT: zlib
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// {"w": a numpy array of two float32}, as protocol 3 writes it.
std::string with_array() {
  return "\x80\3}X\1\0\0\0w"s + "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85"s +
         "C\1b\x87R(K\1K\2\x85" +
         "cnumpy\ndtype\nX\2\0\0\0f4\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xffJ"s +
         "\xff\xff\xff\xffK\0tb\x89"s + "C\x08" + test::raw<float>({1.5F, -2}) + "tbs.";
}

TEST(PackedFile, APackedPickleIsReadAsWhatItIs) {
  const test::Folder folder;
  const auto got = open_checkpoint(folder.write("m.joblib.gz", gzip(with_array())));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_TRUE(got->findings.empty());
  EXPECT_EQ(got->files.at(0).format, "pickle, packed with gzip");
  ASSERT_EQ(got->tensors.size(), 1U);
  std::vector<float> values(2);
  ASSERT_TRUE(tensors::read_elements(got->tensors[0], 0, values));
  EXPECT_THAT(values, ::testing::ElementsAre(1.5F, -2));
}

TEST(PackedFile, AnArrayThatJoblibLaidBesideThePickleIsNamed) {
  // {"w": NumpyArrayWrapper} and the array's bytes behind the wrapper's BUILD, by columns.
  const std::string words =
      "\x80\3}X\1\0\0\0w"s + "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}("s +
      "X\5\0\0\0shapeK\1K\2\x86"s + "X\5\0\0\0orderX\1\0\0\0F"s +
      "X\5\0\0\0dtypecnumpy\ndtype\nX\2\0\0\0f4\x89\x88\x87R(K\3X\1\0\0\0<NNNJ"s +
      "\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s + "ub" + test::raw<float>({3, 4}) + "s.";
  const test::Folder folder;
  const auto got = open_checkpoint(folder.write("m.joblib.gz", gzip(words)));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  ASSERT_EQ(got->tensors.size(), 1U);
  EXPECT_EQ(got->tensors[0].name, "w");
  EXPECT_EQ(got->tensors[0].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(got->findings.empty());
}

TEST(PackedFile, WhatRunsInItIsToldAndWhatIsCutIsNotCalledSafe) {
  const test::Folder folder;
  const std::string evil = gzip("\x80\2cos\nsystem\n(X\4\0\0\0truetR."s);
  for (const auto& [bytes, kind] : std::vector<std::pair<std::string, std::string>>{
           {evil, "pickle.dangerous"}, {evil.substr(0, 14), "pickle.inconclusive"}}) {
    const auto got = open_checkpoint(folder.write("a.pkl.gz", bytes));
    ASSERT_TRUE(got.has_value()) << kind;
    std::vector<std::string> kinds;
    for (const tensors::Finding& each : got->findings) kinds.push_back(each.kind);
    EXPECT_THAT(kinds, ::testing::Contains(kind));
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
