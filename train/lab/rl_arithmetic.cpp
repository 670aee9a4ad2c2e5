#include "train/lab/rl_arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <random>

namespace aplomb::train::lab {
namespace {

constexpr std::string_view k_alphabet = "0123456789+=#";

}  // namespace

std::string Problem::prompt() const { return fmt::format("{:02}+{:02}=", left, right); }

std::vector<std::int64_t> encode_sum(std::string_view text) {
  std::vector<std::int64_t> ids;
  for (const char each : text) ids.push_back(static_cast<std::int64_t>(k_alphabet.find(each)));
  return ids;
}

std::string decode_sum(const std::vector<std::int64_t>& ids) {
  std::string text;
  for (const std::int64_t id : ids) {
    if (id >= 0 && id < static_cast<std::int64_t>(k_alphabet.size()))
      text += k_alphabet[static_cast<std::size_t>(id)];
  }
  return text;
}

std::vector<Problem> sums_up_to(int largest, std::uint64_t seed) {
  std::vector<Problem> all;
  for (int left = 0; left <= largest; ++left) {
    for (int right = 0; right <= largest; ++right) all.push_back({left, right});
  }
  // Not std::shuffle: its order belongs to the library.
  std::mt19937_64 random(seed);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
  return all;
}

std::string_view marked_answer(std::string_view completion) {
  const std::size_t mark = completion.find('#');
  return mark == std::string_view::npos ? std::string_view() : completion.substr(mark + 1);
}

RewardFunction correctness_reward() {
  return {"correctness_reward", [](const Problem& problem, std::string_view completion) {
            return marked_answer(completion) == problem.answer() ? 1.0 : 0.0;
          }};
}

RewardFunction format_reward() {
  return {"format_reward", [](const Problem&, std::string_view completion) {
            const std::string_view answer = marked_answer(completion);
            const bool digits =
                !answer.empty() && answer.size() <= 3 && completion.front() == '#' &&
                std::all_of(answer.begin(), answer.end(),
                            [](unsigned char each) { return std::isdigit(each) != 0; });
            return digits ? 0.2 : 0.0;
          }};
}

}  // namespace aplomb::train::lab
