#include "prose/claim_phrases.h"

#include <algorithm>

namespace aplomb::prose {
namespace {

constexpr std::size_t k_most_phrase_words = 12;
constexpr std::size_t k_key_bytes = 2;

bool meets(const std::string& word, const Token& token) {
  if (word == "#") return token.kind == TokenKind::number;
  if (word.back() == '*')
    return token.kind == TokenKind::word &&
           token.text.starts_with(std::string_view(word).substr(0, word.size() - 1));
  return token.text == word;
}

}  // namespace

// The tokenizer drops the star at the end of a stem, so it is cut off before.
std::vector<std::string> words_of(std::string_view phrase) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < phrase.size();) {
    const std::size_t end = std::min(phrase.find(' ', at), phrase.size());
    const std::string_view piece = phrase.substr(at, end - at);
    at = end + 1;
    if (piece.empty()) continue;
    if (piece == "#") {
      words.emplace_back(piece);
      continue;
    }
    const bool open = piece.back() == '*';
    for (const Token& token : tokenize(piece, k_most_phrase_words)) words.push_back(token.text);
    if (open && !words.empty()) words.back() += '*';
  }
  return words;
}

bool meets(const std::vector<std::string>& phrase, const std::vector<Token>& tokens,
           std::size_t at) {
  return at + phrase.size() <= tokens.size() &&
         std::equal(phrase.begin(), phrase.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at),
                    [](const std::string& word, const Token& token) { return meets(word, token); });
}

std::string key_of(const std::vector<std::string>& phrase) {
  return phrase.front() == "#" ? phrase.front() : phrase.front().substr(0, k_key_bytes);
}

std::string key_of(const Token& token) { return token.text.substr(0, k_key_bytes); }

bool is_short_stem(const std::vector<std::string>& phrase) {
  return phrase.front().back() == '*' && phrase.front().size() <= k_key_bytes;
}

}  // namespace aplomb::prose
