// Bpe from the `model` of a tokenizer.json:
//   {"type": "BPE", "vocab": {"!": 0, ...}, "merges": ["a b", ...] or [["a", "b"], ...],
//    "unk_token": null, "byte_fallback": false, "ignore_merges": false, ...}

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "train/text/bpe.h"
#include "train/text/byte_level.h"

namespace aplomb::train::text {

namespace {

constexpr std::int64_t k_most_tokens = std::int64_t{1}
                                       << 24U;  // 64 times the largest vocabulary in use

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
         static_cast<std::uint32_t>(right);
}

/// Fibonacci hashing: the high bits of a product with 2^64 / phi.
std::size_t spread(std::uint64_t pair, std::size_t slots) {
  const std::uint64_t mixed = (pair ^ (pair >> 29U)) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(mixed >> 32U) & (slots - 1);
}

struct MergeText {
  std::string_view left;
  std::string_view right;
};

/// Both ways to write a merge. Tokens with blanks only fit the second.
std::optional<MergeText> merge_text(const Json& merge) {
  MergeText made;
  simdjson::dom::array pair;
  if (merge.get_array().get(pair) == simdjson::SUCCESS) {
    if (pair.size() != 2 || pair.at(0).get_string().get(made.left) != simdjson::SUCCESS ||
        pair.at(1).get_string().get(made.right) != simdjson::SUCCESS)
      return std::nullopt;
    return made;
  }
  std::string_view text;
  if (merge.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos)
    return std::nullopt;
  made.left = text.substr(0, blank);
  made.right = text.substr(blank + 1);
  return made;
}

}  // namespace

core::Result<Bpe> Bpe::make(const Json& model, bool on_bytes) {
  Bpe bpe;
  bpe.on_bytes_ = on_bytes;
  for (const auto step : {&Bpe::read_vocabulary, &Bpe::read_options, &Bpe::read_merges}) {
    const core::Result<void> done = (bpe.*step)(model);
    if (!done) return tl::unexpected<core::Error>(done.error());
  }
  if (on_bytes) bpe.prepare_bytes();
  return bpe;
}

core::Result<void> Bpe::read_vocabulary(const Json& model) {
  const auto vocab = member(model, "vocab");
  simdjson::dom::object entries;
  if (!vocab || vocab->get_object().get(entries) != simdjson::SUCCESS)
    return core::fail(core::ErrorCode::bad_format, "the model has no object `vocab`");
  const std::size_t count = entries.size();
  vocabulary_.reserve(count, count * 8);
  for (const auto entry : entries) {
    std::int64_t id = -1;
    if (entry.value.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id >= k_most_tokens)
      return core::fail(core::ErrorCode::bad_format,
                        fmt::format("the vocabulary's token \"{}\" has no id from 0 to {}",
                                    std::string_view(entry.key), k_most_tokens - 1));
    vocabulary_.put(entry.key, static_cast<std::int32_t>(id));
  }
  return {};
}

core::Result<void> Bpe::read_options(const Json& model) {
  double dropout = 0;
  if (const auto given = member(model, "dropout")) {
    if (given->get_double().get(dropout) != simdjson::SUCCESS || dropout != 0)
      return core::fail(core::ErrorCode::unsupported,
                        "the model's `dropout` (random merges) is not supported; set it to null");
  }
  prefix_ = text_member(model, "continuing_subword_prefix").value_or("");
  suffix_ = text_member(model, "end_of_word_suffix").value_or("");
  fuse_unknown_ = flag_member(model, "fuse_unk", false);
  byte_fallback_ = flag_member(model, "byte_fallback", false);
  ignore_merges_ = flag_member(model, "ignore_merges", false);
  if (const auto unknown = text_member(model, "unk_token")) unknown_ = vocabulary_.get(*unknown);
  for (unsigned byte = 0; byte < 256; ++byte)
    fallback_ids_[byte] = vocabulary_.get(fmt::format("<0x{:02X}>", byte));
  return {};
}

core::Result<void> Bpe::read_merges(const Json& model) {
  const auto merges = array_member(model, "merges");
  if (!merges) return core::fail(core::ErrorCode::bad_format, "the model has no list `merges`");
  // simdjson's size() of an array saturates at 2^24 - 1, far beyond any list of merges.
  slots_.resize(std::bit_ceil(merges->size() * 2 + 16));
  std::uint32_t rank = 0;
  for (const Json each : *merges) {
    const auto merge = merge_text(each);
    if (!merge)
      return core::fail(
          core::ErrorCode::bad_format,
          fmt::format("merge {} is neither \"left right\" nor [\"left\", \"right\"]", rank));
    core::Result<void> added = add_merge(merge->left, merge->right, rank, prefix_.size());
    if (!added) return added;
    ++rank;
    if (std::size_t{rank} * 2 > slots_.size())
      return core::fail(core::ErrorCode::too_large, fmt::format("more than {} merges", rank));
  }
  return {};
}

core::Result<void> Bpe::add_merge(std::string_view left, std::string_view right, std::uint32_t rank,
                                  std::size_t prefix) {
  const std::int32_t left_id = vocabulary_.get(left);
  const std::int32_t right_id = vocabulary_.get(right);
  std::string whole(left);
  whole += right.substr(std::min(prefix, right.size()));
  const std::int32_t made = vocabulary_.get(whole);
  if (left_id < 0 || right_id < 0 || made < 0)
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("merge {} (\"{}\" + \"{}\") uses a token that is not in the vocabulary", rank,
                    left, right));
  put_merge(left_id, right_id, rank, made);
  return {};
}

void Bpe::put_merge(std::int32_t left, std::int32_t right, std::uint32_t rank, std::int32_t made) {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = spread(pair, slots_.size());
  constexpr std::uint64_t k_free = ~std::uint64_t{0};
  while (slots_[at].pair != k_free && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {.pair = pair, .rank = rank, .made = made};
}

const Bpe::Slot* Bpe::find_merge(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  constexpr std::uint64_t k_free = ~std::uint64_t{0};
  for (std::size_t at = spread(pair, slots_.size());; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return &slots_[at];
    if (slots_[at].pair == k_free) return nullptr;
  }
}

void Bpe::prepare_bytes() {
  const auto& characters = byte_characters();
  for (std::size_t byte = 0; byte < 256; ++byte)
    byte_ids_[byte] = vocabulary_.get(characters[byte]);
  if (!ignore_merges_) return;
  words_.reserve(vocabulary_.size(), vocabulary_.size() * 8);
  vocabulary_.for_each([&](std::string_view token, std::int32_t id) {
    if (const auto bytes = from_byte_characters(token)) words_.put(*bytes, id);
  });
}

}  // namespace aplomb::train::text
