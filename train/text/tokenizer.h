#pragma once
/// Tokenizer: a Hugging Face tokenizer.json (BPE) as a program. The ids are those of the
/// `tokenizers` package for the same file and text.
///
///     auto tokenizer = Tokenizer::open("model/");            // the folder, or the file itself
///     std::vector<std::int32_t> ids = tokenizer->encode("Hello", true);
///     std::string text = tokenizer->decode(ids);
///
/// Read: normalizers NFC NFD NFKC NFKD Lowercase StripAccents Strip Replace Prepend Nmt ByteLevel
/// Sequence; pre-tokenizers ByteLevel Split Metaspace Digits Whitespace WhitespaceSplit Punctuation
/// CharDelimiterSplit BertPreTokenizer Sequence; model BPE (byte_fallback, ignore_merges, fuse_unk,
/// prefixes and suffixes, merges as strings and as pairs); added tokens; post-processors
/// TemplateProcessing ByteLevel BertProcessing RobertaProcessing Sequence; decoders ByteLevel
/// Metaspace Replace ByteFallback Fuse Strip BPEDecoder Sequence. A file that needs anything else
/// is refused with the name of that part. `truncation` and `padding` of the file are not applied:
/// the data set does both.
///
/// Text that is not UTF-8 is read with U+FFFD for each broken piece (as Python's errors="replace").
///
/// Threads: a Tokenizer is constant; an Encoder (its scratch memory and its cache of words) belongs
/// to one thread at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::train::text {

struct TokenizerParts;  // the compiled file (tokenizer_parts.h)

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
};

class Tokenizer {
 public:
  /// `path`: a tokenizer.json, or a folder with one.
  static core::Result<Tokenizer> open(const std::filesystem::path& path);
  /// The content of a tokenizer.json; `name` stands in the text of errors.
  static core::Result<Tokenizer> parse(std::string_view json, std::string_view name);

  /// One text, with an Encoder of its own; for many texts keep an Encoder.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  /// `skip_special` leaves the special tokens out. Ids that do not exist are left out.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const;

  std::optional<std::int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(std::int32_t id) const;
  /// Largest id + 1: the rows that an embedding needs.
  std::int64_t vocabulary() const;
  std::span<const AddedToken> added_tokens() const;
  /// Appends a special token with the next free id, or gives the id of the one that is there.
  std::int32_t add_special_token(std::string_view content);
  /// What the file says that could not be held to (an id that belongs to another token...).
  std::span<const std::string> warnings() const;

  const TokenizerParts& parts() const { return *parts_; }

 private:
  explicit Tokenizer(std::shared_ptr<TokenizerParts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<TokenizerParts> parts_;
};

/// Encodes text after text with one thread's memory. The Tokenizer must outlive it.
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer);
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Appends the ids of `text` to `out`.
  void encode(std::string_view text, bool add_special_tokens, std::vector<std::int32_t>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aplomb::train::text
