#pragma once
/// TextCodec: all that a model folder says about text: its tokenizer, which of the tokens begin,
/// end and pad a sequence, and its chat template.
///
/// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json, generation_config.json and
/// chat_template.jinja (all but the first may be missing).
///
/// The padding token. A row that is shorter than its batch is filled with it, so it must be a token
/// of its own: padding with EOS teaches a model (where labels are made from ids) that the end never
/// counts, and padding with an ordinary word ("!" is id 0 of Llama-3) is the accident behind losses
/// of exactly 0. So: the declared pad token, if it is a special token and neither EOS nor BOS nor
/// UNK; else a special token that is named for it (`<|finetune_right_pad_id|>`, `<|pad|>`...);
/// else `<|pad|>` is added with the next free id. `notices` says which.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/text/tokenizer.h"

namespace aplomb::train::text {

struct TextCodec {
  explicit TextCodec(Tokenizer of) : tokenizer(std::move(of)) {}
  static core::Result<TextCodec> open(const std::filesystem::path& folder);

  /// Error: the vocabulary does not fit a model of `embedding_rows` (the tokenizer is not this
  /// model's). Added tokens without a row are no error: doubt() tells of them.
  core::Result<void> fits(std::int64_t embedding_rows) const;
  /// What is odd about this tokenizer with that model: added tokens without a row, or far more rows
  /// than tokens. Empty: nothing.
  std::string doubt(std::int64_t embedding_rows) const;
  /// Rows that an embedding needs for this tokenizer, the added padding token included. A model
  /// that has fewer is not resized for the sake of padding: see Dataset::pad().
  std::int64_t rows_needed() const { return tokenizer.vocabulary(); }

  Tokenizer tokenizer;
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
  std::int32_t pad = 0;
  bool pad_added = false;  ///< by us: not in the files of the folder
  std::string bos_token;   ///< as templates want them; empty where there is none
  std::string eos_token;
  std::string chat_template;  ///< Jinja; empty where the folder has none
  std::string folder;
  std::vector<std::string> notices;  ///< for people: what was decided, and why
};

}  // namespace aplomb::train::text
