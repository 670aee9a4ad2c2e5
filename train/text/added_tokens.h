#pragma once
/// Tokens that are cut out of a text before the model sees it (`added_tokens`): leftmost first, the
/// longest of those that begin at one place.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace aplomb::train::text {

/// Finds one of many tokens in a text.
class TokenMatcher {
 public:
  /// `content` as the text will have it; `token` is what find() gives back.
  void add(std::string content, std::size_t token);
  bool empty() const { return contents_.empty(); }

  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t token = 0;
  };
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  struct Content {
    std::string text;
    std::size_t token = 0;
  };
  std::vector<Content> contents_;
  std::array<std::vector<std::uint32_t>, 256> by_first_byte_;  ///< longest first
};

/// A part of a text: a token, or (nothing) text for the model.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<std::int32_t> id;
};

/// Appends the parts of `text`, in order. `tokens` tells how blanks and words around a match are
/// treated: lstrip and rstrip take the blanks with them, single_word wants no letters beside it.
void split_at_tokens(std::string_view text, const TokenMatcher& matcher,
                     const std::vector<AddedToken>& tokens, std::vector<TextPart>& out);

}  // namespace aplomb::train::text
