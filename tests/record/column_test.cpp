#include "record/column.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace aplomb::record {
namespace {

/// Numbers of every kind that steps, lines and bytes show: runs, jumps beyond 2^32, returns, signs.
std::vector<std::int64_t> hard_numbers() {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> numbers = {0, 0, 0, 5, 6, 7, -1, 0, 4294967295, 4294967296, 3};
  for (int i = 0; i < 500; ++i) {
    const auto jump = static_cast<std::int64_t>(random() >> (random() % 60));
    numbers.push_back(random() % 8 == 0 ? jump : numbers.back() + 10);
  }
  numbers.push_back(std::numeric_limits<std::int64_t>::min());
  numbers.push_back(std::numeric_limits<std::int64_t>::max());
  return numbers;
}

TEST(PackedColumn, GivesBackEveryNumber) {
  const std::vector<std::int64_t> numbers = hard_numbers();
  PackedColumn<std::int64_t> column;
  for (const std::int64_t number : numbers) column.push_back(number);
  EXPECT_EQ(column, numbers);
  EXPECT_EQ(column.front(), 0);
  EXPECT_EQ(column.back(), std::numeric_limits<std::int64_t>::max());
}

TEST(PackedColumn, GivesBackZerosBeforeTheFirstNumber) {
  PackedColumn<std::uint64_t> column;
  for (int i = 0; i < 100; ++i) column.push_back(0);
  EXPECT_EQ(column, std::vector<std::uint64_t>(100, 0));
  column.push_back(7);
  column.push_back(0);
  EXPECT_EQ(column[99], 0U);
  EXPECT_EQ(column[100], 7U);
  EXPECT_EQ(column[101], 0U);
}

TEST(PackedColumn, KeepsWhatIsChosenAndGoesOn) {
  const std::vector<std::int64_t> numbers = hard_numbers();
  PackedColumn<std::int64_t> column;
  for (const std::int64_t number : numbers) column.push_back(number);
  std::vector<std::uint32_t> places;
  std::vector<std::int64_t> wanted;
  for (std::uint32_t at = 1; at < numbers.size(); at += 1 + at % 3) {
    places.push_back(at);
    wanted.push_back(numbers[at]);
  }
  column.keep(places);
  EXPECT_EQ(column, wanted);
  for (const std::int64_t number : numbers) {
    column.push_back(number);
    wanted.push_back(number);
  }
  EXPECT_EQ(column, wanted);
}

TEST(PackedColumn, IsSearchedLikeAVector) {
  PackedColumn<std::uint64_t> column;
  for (std::uint64_t i = 0; i < 1000; ++i) column.push_back(i * 10000000);  // beyond 2^32
  const auto at = std::lower_bound(column.begin(), column.end(), 4999999999U);
  EXPECT_EQ(at - column.begin(), 500);
  EXPECT_EQ(*at, 5000000000U);
  EXPECT_EQ(*std::max_element(column.begin(), column.end()), 9990000000U);
}

TEST(RunColumn, GivesBackEveryNumberAndKeepsWhatIsChosen) {
  RunColumn<std::uint16_t> column;
  const std::vector<std::uint16_t> numbers = {0, 0, 1, 1, 1, 3, 2, 2};
  for (const std::uint16_t number : numbers) column.push_back(number);
  EXPECT_EQ(column, numbers);
  column.keep({0, 4, 7});
  EXPECT_EQ(column, (std::vector<std::uint16_t>{0, 1, 2}));
}

}  // namespace
}  // namespace aplomb::record
