#pragma once
/// Tokens of what people write: words in lower case, numbers, punctuation. The lexicon of
/// knowledge/claims is cut by the same rules, so that its phrases meet the text.
///
///   `grad_norm`, `grad-norm`  -> grad norm          `doesn’t` -> doesn't
///   `15s/it`                  -> 15 s / it          `99.5%`   -> 99.5 %
///   `1e-3`, `-0.5`, `1,000`   -> one number each    `loss为nan` -> loss 为 nan
/// Of Chinese and its neighbours each character is a word: nobody writes blanks between theirs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::prose {

enum class TokenKind : std::uint8_t { word, number, mark };

struct Token {
  TokenKind kind = TokenKind::word;
  std::string text;  ///< lower case; of a number as written; of a mark its ASCII form
  double value = 0;  ///< number
};

/// Bytes that are no letter, digit or known punctuation part tokens and are left out. At most
/// `most` tokens are made; what follows is not looked at.
std::vector<Token> tokenize(std::string_view text, std::size_t most);

/// Ends of sentences: `. ! ?` before a blank or the end, and their Chinese forms.
bool ends_sentence(const Token& token);

}  // namespace aplomb::prose
