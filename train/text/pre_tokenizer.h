#pragma once
/// Pre-tokenizers of tokenizer.json: each cuts the pieces of a text finer, some rewrite it.

#include <memory>

#include "core/result.h"
#include "train/text/json_access.h"
#include "train/text/pieces.h"

namespace aplomb::train::text {

class PreTokenizer {
 public:
  PreTokenizer() = default;
  virtual ~PreTokenizer() = default;
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;
  virtual void apply(Pieces& pieces) const = 0;
};

/// The compiled `pre_tokenizer` of a file.
struct PreTokenizing {
  std::unique_ptr<const PreTokenizer> steps;  ///< none: the whole text is one piece
  /// The last step maps bytes to GPT-2's characters. It is left out of `steps`: the model then
  /// works on the bytes themselves, which come to the same tokens.
  bool on_bytes = false;
};

/// Errors name the part that is not read.
core::Result<PreTokenizing> make_pre_tokenizing(const Json& json);

}  // namespace aplomb::train::text
