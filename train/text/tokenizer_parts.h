#pragma once
/// TokenizerParts: a tokenizer.json, compiled.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/added_tokens.h"
#include "train/text/bpe.h"
#include "train/text/decoder.h"
#include "train/text/normalizer.h"
#include "train/text/post_processor.h"
#include "train/text/pre_tokenizer.h"

namespace aplomb::train::text {

struct TokenizerParts {
  /// Enters a token, unless its content is there; its id.
  std::int32_t add(AddedToken token);
  std::int32_t id_of(std::string_view token) const;  ///< StringMap::k_none: none
  /// Where `added` changed: brings the matchers up to date.
  void index_added();

  std::unique_ptr<const Normalizer> normalizer;  ///< none: text as it is
  PreTokenizing pre_tokenizing;
  Bpe model;
  Surroundings surroundings;
  std::unique_ptr<const Decoder> decoder;  ///< none: tokens joined by blanks

  std::vector<AddedToken> added;
  std::map<std::string, std::size_t, std::less<>> added_by_content;
  TokenMatcher plain;       ///< tokens found in the text as it comes
  TokenMatcher normalized;  ///< tokens found in the normalized text

  std::vector<std::string_view> token_texts;  ///< of the model, by id; views of its vocabulary
  std::vector<std::string> warnings;
  std::string name;
};

}  // namespace aplomb::train::text
