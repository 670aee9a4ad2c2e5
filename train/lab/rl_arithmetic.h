#pragma once
/// Arithmetic: the task of the small GRPO loop: sums in an alphabet of 16 characters, with rewards
/// that a program can check.
///
/// A prompt is `07+15=`, a right completion `#22` and the end of the text: a mark before the
/// answer, as rewards of mathematics data sets look for one. Prompts are all of one length, so that
/// a batch of them needs no padding.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::train::lab {

inline constexpr std::int64_t k_rl_vocabulary = 16;
inline constexpr std::int64_t k_rl_eos = 13;
inline constexpr std::int64_t k_rl_pad = 14;

struct Problem {
  int left = 0, right = 0;  ///< 0 to 99

  std::string prompt() const;
  std::string answer() const { return std::to_string(left + right); }
};

/// Characters `0-9 + = #` to ids and back. Ids without a character (end, padding) are left out.
/// Characters outside the alphabet are a fault of the caller.
std::vector<std::int64_t> encode_sum(std::string_view text);
std::string decode_sum(const std::vector<std::int64_t>& ids);

/// Every sum of two numbers from 0 to `largest`, shuffled by `seed`.
std::vector<Problem> sums_up_to(int largest, std::uint64_t seed);

/// As trainers call it: the completion without its end token. NaN: cannot be scored.
struct RewardFunction {
  std::string name;
  std::function<double(const Problem&, std::string_view completion)> score;
};

/// What stands behind the first `#`; empty where there is none.
std::string_view marked_answer(std::string_view completion);

/// 1 where the answer behind the mark is right.
RewardFunction correctness_reward();
/// 0.2 where the completion is a mark and one to three digits.
RewardFunction format_reward();

}  // namespace aplomb::train::lab
