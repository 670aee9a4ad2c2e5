// Encoder: the way of a text through a compiled tokenizer.json:
// added tokens cut out -> normalized -> normalized added tokens cut out -> pre-tokens -> model.

#include <utility>

#include "train/text/tokenizer.h"
#include "train/text/tokenizer_parts.h"
#include "train/text/utf8.h"
#include "train/text/word_cache.h"

namespace aplomb::train::text {

struct Encoder::State {
  explicit State(const TokenizerParts& compiled) : parts(&compiled) {}

  void encode_part(std::string_view text, bool at_start, std::vector<std::int32_t>& out);
  void encode_normalized(std::string_view text, bool at_start, std::vector<std::int32_t>& out);
  void encode_word(std::string_view word, std::vector<std::int32_t>& out);

  const TokenizerParts* parts;
  WordCache cache;
  BpeScratch scratch;
  Pieces pieces;
  std::string normalized;
  std::vector<TextPart> text_parts;
  std::vector<TextPart> normalized_parts;
};

Encoder::Encoder(const Tokenizer& tokenizer) : state_(std::make_unique<State>(tokenizer.parts())) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

void Encoder::encode(std::string_view text, bool add_special_tokens,
                     std::vector<std::int32_t>& out) {
  const TokenizerParts& parts = *state_->parts;
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = repaired_utf8(text);
    text = repaired;
  }
  const Surroundings& around = parts.surroundings;
  if (add_special_tokens) out.insert(out.end(), around.before.begin(), around.before.end());
  state_->text_parts.clear();
  split_at_tokens(text, parts.plain, parts.added, state_->text_parts);
  for (const TextPart& part : state_->text_parts) {
    if (part.id) {
      out.push_back(*part.id);
    } else {
      state_->encode_part(text.substr(part.begin, part.end - part.begin), part.begin == 0, out);
    }
  }
  if (add_special_tokens) out.insert(out.end(), around.after.begin(), around.after.end());
}

void Encoder::State::encode_part(std::string_view text, bool at_start,
                                 std::vector<std::int32_t>& out) {
  if (parts->normalizer) {
    normalized.assign(text);
    parts->normalizer->apply(normalized);
    text = normalized;
  }
  if (parts->normalized.empty()) {
    encode_normalized(text, at_start, out);
    return;
  }
  normalized_parts.clear();
  split_at_tokens(text, parts->normalized, parts->added, normalized_parts);
  for (const TextPart& part : normalized_parts) {
    if (part.id) {
      out.push_back(*part.id);
    } else {
      encode_normalized(text.substr(part.begin, part.end - part.begin), at_start && part.begin == 0,
                        out);
    }
  }
}

void Encoder::State::encode_normalized(std::string_view text, bool at_start,
                                       std::vector<std::int32_t>& out) {
  if (text.empty()) return;
  if (!parts->pre_tokenizing.steps) {
    encode_word(text, out);
    return;
  }
  pieces.text.assign(text);
  pieces.list.assign(1, {.begin = 0, .end = text.size(), .at_start = at_start});
  parts->pre_tokenizing.steps->apply(pieces);
  for (const Piece& piece : pieces.list) encode_word(pieces.of(piece), out);
}

void Encoder::State::encode_word(std::string_view word, std::vector<std::int32_t>& out) {
  if (word.empty() || word.size() > WordCache::k_longest) {
    parts->model.encode_word(word, scratch, out);
    return;
  }
  if (const auto ids = cache.get(word)) {
    out.insert(out.end(), ids->begin(), ids->end());
    return;
  }
  const std::size_t before = out.size();
  parts->model.encode_word(word, scratch, out);
  cache.put(word, std::span(out).subspan(before));
}

}  // namespace aplomb::train::text
