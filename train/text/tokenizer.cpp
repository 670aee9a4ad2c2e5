#include "train/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tensors/mapped_file.h"
#include "train/text/tokenizer_parts.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

/// Compiles member `key` of the file into `into`, where the file has one.
template <class Into, class Make>
core::Result<void> compile_part(const Json& json, std::string_view key, Into& into, Make make) {
  const auto part = member(json, key);
  if (!part) return {};
  auto made = make(*part);
  if (!made) return tl::unexpected<core::Error>(made.error());
  into = std::move(*made);
  return {};
}

core::Result<void> compile_model(const Json& json, TokenizerParts& parts) {
  const auto model = member(json, "model");
  if (!model) return core::fail(core::ErrorCode::bad_format, "there is no `model` in it");
  const std::string_view type =
      text_member(*model, "type").value_or(array_member(*model, "merges") ? "BPE" : "");
  if (type != "BPE")
    return core::fail(core::ErrorCode::unsupported,
                      fmt::format("model \"{}\" is not supported, only BPE is", type));
  core::Result<Bpe> bpe = Bpe::make(*model, parts.pre_tokenizing.on_bytes);
  if (!bpe) return tl::unexpected<core::Error>(bpe.error());
  parts.model = std::move(*bpe);
  std::int32_t most = -1;
  parts.model.vocabulary().for_each(
      [&](std::string_view, std::int32_t id) { most = std::max(most, id); });
  parts.token_texts.resize(static_cast<std::size_t>(most + 1));
  parts.model.vocabulary().for_each([&](std::string_view text, std::int32_t id) {
    parts.token_texts[static_cast<std::size_t>(id)] = text;
  });
  return {};
}

/// [{"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, ...}]
core::Result<void> read_added_tokens(const Json& json, TokenizerParts& parts) {
  const auto list = array_member(json, "added_tokens");
  if (!list) return {};
  for (const Json each : *list) {
    const auto content = text_member(each, "content");
    if (!content)
      return core::fail(core::ErrorCode::bad_format, "an entry of `added_tokens` has no `content`");
    if (content->empty()) continue;
    const bool special = flag_member(each, "special", false);
    const std::int32_t id = parts.add({.id = StringMap::k_none,
                                       .content = std::string(*content),
                                       .single_word = flag_member(each, "single_word", false),
                                       .lstrip = flag_member(each, "lstrip", false),
                                       .rstrip = flag_member(each, "rstrip", false),
                                       .normalized = flag_member(each, "normalized", !special),
                                       .special = special});
    const auto stated = whole_member(each, "id");
    if (stated && *stated != id)
      parts.warnings.push_back(fmt::format(
          "[tokenizer] {}: added token \"{}\" is stated to have id {}, but it has id {} (the "
          "vocabulary's, or the next free one): the file was edited by hand?",
          parts.name, *content, *stated, id));
  }
  return {};
}

/// What is put around a text consists of tokens that there are: an id beyond them would be looked
/// up outside of the embedding.
core::Result<void> check_surroundings(const TokenizerParts& parts) {
  auto rows = static_cast<std::int64_t>(parts.token_texts.size());
  for (const AddedToken& each : parts.added) rows = std::max<std::int64_t>(rows, each.id + 1);
  for (const auto* side : {&parts.surroundings.before, &parts.surroundings.after}) {
    for (const std::int32_t id : *side) {
      if (id < 0 || id >= rows)
        return core::fail(
            core::ErrorCode::bad_format,
            fmt::format("post_processor TemplateProcessing adds the id {}, and there are "
                        "{} tokens: its token is missing in `added_tokens`?",
                        id, rows));
    }
  }
  return {};
}

core::Result<void> compile(const Json& json, TokenizerParts& parts) {
  core::Result<void> done = compile_part(json, "normalizer", parts.normalizer, make_normalizer);
  if (done) done = compile_part(json, "pre_tokenizer", parts.pre_tokenizing, make_pre_tokenizing);
  if (done) done = compile_model(json, parts);
  if (done) done = compile_part(json, "post_processor", parts.surroundings, read_post_processor);
  if (done) done = compile_part(json, "decoder", parts.decoder, make_decoder);
  if (done) done = read_added_tokens(json, parts);
  if (done) done = check_surroundings(parts);
  parts.index_added();
  return done;
}

}  // namespace

std::int32_t TokenizerParts::id_of(std::string_view token) const {
  const auto found = added_by_content.find(token);
  return found != added_by_content.end() ? added[found->second].id : model.vocabulary().get(token);
}

std::int32_t TokenizerParts::add(AddedToken token) {
  const auto vocabulary = static_cast<std::int32_t>(model.vocabulary().size());
  token.id = id_of(token.content);
  if (token.id < 0) {
    std::int32_t most = -1;
    for (const AddedToken& each : added) most = std::max(most, each.id);
    token.id = std::max(most + 1, vocabulary);
  }
  const std::int32_t id = token.id;
  const auto [place, fresh] = added_by_content.try_emplace(token.content, added.size());
  if (fresh) added.push_back(std::move(token));
  return id;
}

void TokenizerParts::index_added() {
  plain = {};
  normalized = {};
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (!added[i].normalized) {
      plain.add(added[i].content, i);
      continue;
    }
    std::string content = added[i].content;
    if (normalizer) normalizer->apply(content);
    normalized.add(std::move(content), i);
  }
}

core::Result<Tokenizer> Tokenizer::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = folder ? path / "tokenizer.json" : path;
  const auto mapped = tensors::MappedFile::open(file.string());
  if (!mapped)
    return core::fail(
        mapped.error().code,
        fmt::format("[tokenizer] {}: {}; a model folder needs its tokenizer.json (a folder "
                    "with only tokenizer.model: load and save it once with transformers' "
                    "AutoTokenizer, which writes one)",
                    file.string(), mapped.error().text));
  return parse((*mapped)->text(), file.string());
}

core::Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name) {
  simdjson::dom::parser parser;
  Json root;
  const auto error = parser.parse(json.data(), json.size()).get(root);
  if (error != simdjson::SUCCESS)
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[tokenizer] {} is not JSON: {} ({} bytes); a broken download, or a "
                    "git-lfs pointer in place of the file?",
                    name, simdjson::error_message(error), json.size()));
  auto parts = std::make_shared<TokenizerParts>();
  parts->name = name;
  const core::Result<void> done = compile(root, *parts);
  if (!done)
    return core::fail(done.error().code,
                      fmt::format("[tokenizer] {}: {}", name, done.error().text));
  return Tokenizer(std::move(parts));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  std::vector<std::int32_t> ids;
  Encoder(*this).encode(text, add_special_tokens, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    const auto special = std::find_if(parts_->added.begin(), parts_->added.end(),
                                      [&](const AddedToken& each) { return each.id == id; });
    if (special != parts_->added.end() && special->special && skip_special) continue;
    if (auto text = id_to_token(id)) tokens.push_back(std::move(*text));
  }
  if (parts_->decoder) parts_->decoder->apply(tokens);
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !parts_->decoder) out += ' ';
    out += tokens[i];
  }
  return out;
}

std::optional<std::int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const std::int32_t id = parts_->id_of(token);
  if (id < 0) return std::nullopt;
  return id;
}

std::optional<std::string> Tokenizer::id_to_token(std::int32_t id) const {
  for (const AddedToken& token : parts_->added) {
    if (token.id == id) return token.content;
  }
  if (id < 0 || static_cast<std::size_t>(id) >= parts_->token_texts.size()) return std::nullopt;
  const std::string_view text = parts_->token_texts[static_cast<std::size_t>(id)];
  if (text.empty() && parts_->model.vocabulary().get("") != id) return std::nullopt;
  return std::string(text);
}

std::int64_t Tokenizer::vocabulary() const {
  auto rows = static_cast<std::int64_t>(parts_->token_texts.size());
  for (const AddedToken& token : parts_->added) rows = std::max<std::int64_t>(rows, token.id + 1);
  return rows;
}

std::span<const AddedToken> Tokenizer::added_tokens() const { return parts_->added; }

std::int32_t Tokenizer::add_special_token(std::string_view content) {
  if (const auto id = token_to_id(content)) return *id;
  parts_->added_by_content.emplace(content, parts_->added.size());
  parts_->added.push_back({.id = static_cast<std::int32_t>(vocabulary()),
                           .content = std::string(content),
                           .special = true});
  parts_->index_added();
  return parts_->added.back().id;
}

std::span<const std::string> Tokenizer::warnings() const { return parts_->warnings; }

}  // namespace aplomb::train::text
