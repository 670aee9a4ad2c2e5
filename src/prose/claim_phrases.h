#pragma once
/// The phrases of knowledge/claims and how they meet a text: one or more words; `increas*`
/// stands for every word that begins so, `#` for any number. They are cut like the text is.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "prose/claim_tokens.h"

namespace aplomb::prose {

/// The words of a phrase; none where it holds nothing that a text can hold.
std::vector<std::string> words_of(std::string_view phrase);

/// The tokens from `at` on are the phrase.
bool meets(const std::vector<std::string>& phrase, const std::vector<Token>& tokens,
           std::size_t at);

/// Where a phrase is looked for: the first two bytes of its first word, "#" if that is a number.
std::string key_of(const std::vector<std::string>& phrase);
std::string key_of(const Token& token);

/// A stem of fewer letters would meet half of the language.
bool is_short_stem(const std::vector<std::string>& phrase);

}  // namespace aplomb::prose
