#pragma once
/// Bpe: byte-pair encoding. A word becomes its characters (or bytes); then, as long as any two
/// neighbours have a merge, the merge of lowest rank (leftmost of equals) is made.
///
/// Cost: words of up to 64 symbols by scanning for the least rank (in cache, no allocation), longer
/// ones by a heap, so that a megabyte without a blank takes n log n and not n^2.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "train/text/json_access.h"
#include "train/text/string_map.h"

namespace aplomb::train::text {

/// One thread's memory for words.
struct BpeScratch {
  std::vector<std::int32_t> ids;
  std::vector<std::uint32_t> ranks;
  std::vector<std::int32_t> next;
  std::vector<std::int32_t> previous;
  std::vector<std::uint64_t> heap;
  std::string symbol;
};

class Bpe {
 public:
  /// `model` of a tokenizer.json. `on_bytes`: words come as raw bytes, not as GPT-2's characters.
  static core::Result<Bpe> make(const Json& model, bool on_bytes);

  /// Appends the ids of one word, valid UTF-8 or (on_bytes) any bytes.
  void encode_word(std::string_view word, BpeScratch& scratch,
                   std::vector<std::int32_t>& out) const;

  /// Tokens as the file spells them.
  const StringMap& vocabulary() const { return vocabulary_; }

 private:
  struct Slot {
    std::uint64_t pair = ~std::uint64_t{0};
    std::uint32_t rank = 0;
    std::int32_t made = 0;
  };
  static constexpr std::uint32_t k_no_merge = ~std::uint32_t{0};

  core::Result<void> read_vocabulary(const Json& model);
  core::Result<void> read_merges(const Json& model);
  core::Result<void> read_options(const Json& model);
  core::Result<void> add_merge(std::string_view left, std::string_view right, std::uint32_t rank,
                               std::size_t prefix);
  void put_merge(std::int32_t left, std::int32_t right, std::uint32_t rank, std::int32_t made);
  void prepare_bytes();
  const Slot* find_merge(std::int32_t left, std::int32_t right) const;
  std::uint32_t rank_of(std::int32_t left, std::int32_t right) const {
    const Slot* slot = find_merge(left, right);
    return slot == nullptr ? k_no_merge : slot->rank;
  }
  void symbols_of_bytes(std::string_view word, std::vector<std::int32_t>& ids) const;
  /// The characters [begin, end) of `word` as the vocabulary spells them there.
  std::string_view spelled(std::string_view word, std::size_t begin, std::size_t end,
                           std::string& memory) const;
  /// The bytes of a character without a token, if all of them have one.
  bool append_fallback(std::string_view symbol, std::vector<std::int32_t>& ids) const;
  void symbols_of_text(std::string_view word, BpeScratch& scratch) const;
  void merge_short(BpeScratch& scratch) const;
  void merge_long(BpeScratch& scratch) const;

  StringMap vocabulary_;
  StringMap words_;  ///< on_bytes: whole tokens by their bytes
  std::vector<Slot> slots_;
  std::array<std::int32_t, 256> byte_ids_{};      ///< on_bytes: by byte; StringMap::k_none: none
  std::array<std::int32_t, 256> fallback_ids_{};  ///< of <0x00>...; StringMap::k_none: none
  std::string prefix_;                            ///< of every symbol of a word but the first
  std::string suffix_;                            ///< of the last
  std::int32_t unknown_ = StringMap::k_none;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  bool on_bytes_ = false;
};

}  // namespace aplomb::train::text
