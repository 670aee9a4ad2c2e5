#pragma once
/// Tokens of one log line: words, numbers, what looks like a number but is none (times, dates,
/// addresses, versions), and single marks. The rule that tells metrics from noise begins here: a
/// number stands alone, or carries a unit; digits that hang together by `:`, `-`, `/` or dots are
/// something else.

#include <cstdint>
#include <string_view>
#include <vector>

namespace aplomb::log_text {

enum class TokenType : std::uint8_t {
  word,    ///< `loss`, `train/loss`, `Prec@1`, `mAP50-95`
  number,  ///< `-1.5e-05`, `nan`, `1,234`
  other,   ///< `21:45:40`, `2023-05-26`, `10.0.0.1`
  mark,    ///< any single other character
};

struct Token {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  TokenType type = TokenType::mark;
  char mark = 0;         ///< the character of a mark
  std::uint8_t gap = 0;  ///< blanks before it: 0 none, 1 one, 2 more or a tab
  bool integer = false;  ///< of a number: digits only
  double value = 0;
};

/// At most this many tokens of a line are looked at: more than the widest record of metrics seen
/// (verl prints some 120 keys, 5 tokens each) by far.
constexpr std::size_t k_most_tokens = 4096;

/// Replaces the content of `out`; keeps its memory.
void tokenize(std::string_view line, std::vector<Token>& out);

}  // namespace aplomb::log_text
