#include "train/lab/rl_arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace aplomb::train::lab {
namespace {

TEST(Arithmetic, prompts_are_of_one_length_and_come_back_from_their_ids) {
  for (const Problem& each : {Problem{0, 3}, Problem{47, 8}}) {
    EXPECT_EQ(each.prompt().size(), 6U);
    EXPECT_EQ(decode_sum(encode_sum(each.prompt())), each.prompt());
  }
  EXPECT_EQ(decode_sum({11, 4, k_rl_eos, k_rl_pad}), "=4") << "end and padding have no character";
}

TEST(Arithmetic, every_sum_comes_once_in_an_order_of_the_seed) {
  const auto order = [](std::uint64_t seed) {
    std::vector<std::string> prompts;
    for (const Problem& each : sums_up_to(6, seed)) prompts.push_back(each.prompt());
    return prompts;
  };
  auto first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()) - first.begin(), 49);
}

TEST(Arithmetic, rewards_are_for_right_answers_and_for_the_form) {
  const Problem sum{7, 15};
  const auto correct = correctness_reward().score;
  const auto format = format_reward().score;
  EXPECT_EQ(correct(sum, "#22"), 1.0);
  EXPECT_EQ(correct(sum, "22"), 0.0);
  EXPECT_EQ(correct(sum, "#2"), 0.0);
  EXPECT_EQ(format(sum, "#23"), 0.2);
  for (const char* each : {"", "#", "#2+2", "22#", "#1234", "#22#22"})
    EXPECT_EQ(format(sum, each), 0.0) << each;
}

}  // namespace
}  // namespace aplomb::train::lab
