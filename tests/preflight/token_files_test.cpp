#include "preflight/token_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/folder.h"

namespace aplomb::preflight {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

template <class T>
std::string bytes_of_number(T number) {
  return bytes_of_numbers(std::vector<T>{number});
}

std::string megatron_index(const std::vector<std::int32_t>& sizes, std::uint8_t type = 4) {
  std::vector<std::int64_t> places;
  std::int64_t at = 0;
  for (const std::int32_t size : sizes) {
    places.push_back(at);
    at += size * 4;
  }
  return std::string("MMIDIDX\0\0", 9) + bytes_of_number(std::uint64_t{1}) + bytes_of_number(type) +
         bytes_of_number(std::uint64_t{sizes.size()}) +
         bytes_of_number(std::uint64_t{sizes.size() + 1}) + bytes_of_numbers(sizes) +
         bytes_of_numbers(places);
}

struct Found {
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint32_t> faults;
  std::vector<std::string> quotes;
  bool whole = false;
};

Found read(const std::string& path, const DataLimits& limits = {}) {
  Found found;
  found.whole = read_tokens(path, limits, ~std::uint64_t{0},
                            [&](const Row& row, std::uint64_t, const RowQuote& quote) {
                              found.lengths.push_back(row.length);
                              found.faults.push_back(row.faults);
                              found.quotes.push_back(quote.text());
                            })
                    .has_value();
  return found;
}

TEST(TokenFiles, ReadsTheSequencesOfMegatron) {
  const test::Folder folder;
  folder.write("corpus_text_document.idx", megatron_index({3, 0, 2}));
  const std::string path =
      folder.write("corpus_text_document.bin", bytes_of_numbers<std::int32_t>({1, 2, 3, 4, 500}));
  EXPECT_TRUE(is_token_file(path));
  const Found found = read(path, {100, 0, 0});
  EXPECT_THAT(found.lengths, ElementsAre(3, 0, 2));
  EXPECT_THAT(found.faults, ElementsAre(0, k_row_empty, k_row_out_of_range));
  EXPECT_THAT(found.quotes[2], StartsWith("sequence 2: 4 500"));
}

TEST(TokenFiles, SaysSoWhereIndexAndTokensDoNotFit) {
  const test::Folder folder;
  folder.write("x.idx", megatron_index({3, 4}));
  EXPECT_FALSE(read(folder.write("x.bin", bytes_of_numbers<std::int32_t>({1, 2, 3}))).whole);
  folder.write("y.idx", megatron_index({3}, 7));  // fractions
  EXPECT_FALSE(read(folder.write("y.bin", bytes_of_numbers<std::int32_t>({1, 2, 3}))).whole);
  folder.write("z.idx", megatron_index({3}).substr(0, 30));
  EXPECT_FALSE(read(folder.write("z.bin", bytes_of_numbers<std::int32_t>({1, 2, 3}))).whole);
}

TEST(TokenFiles, SplitsAStreamAtTheEndOfText) {
  const test::Folder folder;
  const std::string path = folder.write(
      "train.bin", bytes_of_numbers<std::uint16_t>({1, 2, 50256, 3, 50256, 50256, 4, 5, 6}));
  EXPECT_TRUE(is_token_file(path));
  EXPECT_THAT(read(path).lengths, ElementsAre(2, 1, 0, 3));
  EXPECT_THAT(read(path).quotes[1], StartsWith("from token 3: 3"));
}

TEST(TokenFiles, CutsAStreamWithoutEndsIntoBlocks) {
  const test::Folder folder;
  const std::string path =
      folder.write("val.bin", bytes_of_numbers(std::vector<std::uint16_t>(2500, 7)));
  EXPECT_THAT(read(path).lengths, ElementsAre(1024, 1024, 452));
  EXPECT_THAT(read(path, {0, 1000, 0}).lengths, ElementsAre(1000, 1000, 500));
}

TEST(TokenFiles, ReadsTheShardsOfLlmC) {
  const test::Folder folder;
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240801;
  const std::string path = folder.write(
      "shard_000001.bin",
      bytes_of_numbers(header) + bytes_of_numbers<std::uint32_t>({128000, 9, 8, 128000, 7}));
  EXPECT_TRUE(is_token_file(path));
  const Found found = read(path);
  EXPECT_EQ(found.lengths.size(), 2U);
  EXPECT_EQ(found.lengths.back(), 1U);
}

TEST(TokenFiles, LeavesWeightsAlone) {
  const test::Folder folder;
  EXPECT_FALSE(is_token_file(folder.write("pytorch_model.bin", std::string(2000, 'x'))));
  EXPECT_FALSE(is_token_file(folder.write("train.bin", "PK\x03\x04" + std::string(2000, 'x'))));
  EXPECT_FALSE(is_token_file(folder / "missing.bin"));
}

TEST(TokenFiles, SurvivesAnyIndex) {
  const test::Folder folder;
  std::mt19937 random(5);
  const std::string tokens = folder.write("t.bin", std::string(64, '\1'));
  for (int round = 0; round < 300; ++round) {
    std::string index = megatron_index({4, 4, 4});
    for (int change = 0; change < 3; ++change)
      index[9 + random() % (index.size() - 9)] = static_cast<char>(random());
    folder.write("t.idx", index);
    (void)read(tokens);
  }
}

}  // namespace
}  // namespace aplomb::preflight
