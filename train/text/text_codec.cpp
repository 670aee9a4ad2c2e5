#include "train/text/text_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tensors/mapped_file.h"
#include "train/text/json_access.h"
#include "train/text/tokenizer_parts.h"

namespace aplomb::train::text {

namespace {

namespace fs = std::filesystem;

/// One JSON file of the folder; absent and unreadable ones have no members.
struct JsonFile {
  explicit JsonFile(const fs::path& path) {
    const auto mapped = tensors::MappedFile::open(path.string());
    if (!mapped) return;
    const std::string_view text = (*mapped)->text();
    readable = parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS;
  }
  std::optional<Json> at(std::string_view key) const {
    return readable ? member(root, key) : std::nullopt;
  }
  simdjson::dom::parser parser;
  Json root;
  bool readable = false;
};

/// "eos_token": "</s>", or {"content": "</s>", ...}
std::optional<std::string> token_named(const JsonFile& file, std::string_view key) {
  const auto found = file.at(key);
  if (!found) return std::nullopt;
  std::string_view text;
  if (found->get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  const auto content = text_member(*found, "content");
  return content ? std::optional<std::string>(*content) : std::nullopt;
}

/// "eos_token_id": 2, or [128001, 128009]: the first.
std::optional<std::int64_t> first_id(const JsonFile& file, std::string_view key) {
  const auto found = file.at(key);
  if (!found) return std::nullopt;
  std::int64_t id = 0;
  if (found->get_int64().get(id) == simdjson::SUCCESS) return id;
  simdjson::dom::array list;
  if (found->get_array().get(list) != simdjson::SUCCESS ||
      list.at(0).get_int64().get(id) != simdjson::SUCCESS)
    return std::nullopt;
  return id;
}

/// "chat_template": the text, or [{"name": "default", "template": ...}, ...].
std::string template_of(const JsonFile& file) {
  const auto found = file.at("chat_template");
  if (!found) return {};
  std::string_view text;
  if (found->get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  simdjson::dom::array list;
  if (found->get_array().get(list) != simdjson::SUCCESS) return {};
  for (const Json each : list) {
    if (text_member(each, "name") == "default")
      return std::string(text_member(each, "template").value_or(""));
  }
  return {};
}

std::string file_text(const fs::path& path) {
  const auto mapped = tensors::MappedFile::open(path.string());
  return mapped ? std::string((*mapped)->text()) : std::string();
}

/// Names under which models keep a token for padding alone.
constexpr std::array<std::string_view, 8> k_pad_names = {"<|pad|>",   "<|finetune_right_pad_id|>",
                                                         "<pad>",     "[PAD]",
                                                         "<PAD>",     "<|padding|>",
                                                         "<|▁pad▁|>", "<｜▁pad▁｜>"};
constexpr std::string_view k_new_pad = "<|pad|>";

struct FolderFiles {
  explicit FolderFiles(const fs::path& folder)
      : tokenizer_config(folder / "tokenizer_config.json"),
        special_tokens(folder / "special_tokens_map.json"),
        generation(folder / "generation_config.json"),
        config(folder / "config.json") {}
  std::optional<std::string> token(std::string_view key) const {
    auto found = token_named(tokenizer_config, key);
    return found ? found : token_named(special_tokens, key);
  }
  std::optional<std::int64_t> id(std::string_view key) const {
    const auto found = first_id(config, key);
    return found ? found : first_id(generation, key);
  }
  JsonFile tokenizer_config;
  JsonFile special_tokens;
  JsonFile generation;
  JsonFile config;
};

/// The token that the files call `name` (bos, eos): by its text, else by its id.
std::optional<std::int32_t> find_token(const FolderFiles& files, const Tokenizer& tokenizer,
                                       const std::string& name, std::string& text) {
  if (const auto given = files.token(name + "_token")) {
    text = *given;
    if (const auto id = tokenizer.token_to_id(*given)) return id;
  }
  const auto id = files.id(name + "_token_id");
  if (!id || *id < 0 || *id >= tokenizer.vocabulary()) return std::nullopt;
  const auto found = tokenizer.id_to_token(static_cast<std::int32_t>(*id));
  if (!found) return std::nullopt;
  text = *found;
  return static_cast<std::int32_t>(*id);
}

bool is_special(const Tokenizer& tokenizer, std::int32_t id) {
  const auto tokens = tokenizer.added_tokens();
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const AddedToken& each) { return each.id == id && each.special; });
}

/// Why `id` may not pad; empty where it may.
std::string why_not_pad(const TextCodec& codec, const FolderFiles& files, std::int32_t id) {
  if (id == codec.eos) return "it is the end-of-sequence token";
  if (id == codec.bos) return "it is the beginning-of-sequence token";
  const auto unknown = files.token("unk_token");
  if (unknown && codec.tokenizer.token_to_id(*unknown) == id) return "it is the unknown token";
  if (!is_special(codec.tokenizer, id)) return "it is an ordinary token of the vocabulary";
  return {};
}

void choose_pad(const FolderFiles& files, TextCodec& codec) {
  std::string why = "the folder declares none";
  if (const auto declared = files.token("pad_token")) {
    const auto id = codec.tokenizer.token_to_id(*declared);
    const std::string reason = id ? why_not_pad(codec, files, *id) : "it has no id";
    if (reason.empty()) {
      codec.pad = *id;
      return;
    }
    why = fmt::format("the declared one, \"{}\", cannot be: {}", *declared, reason);
  }
  for (const std::string_view name : k_pad_names) {
    const auto id = codec.tokenizer.token_to_id(name);
    if (!id || !why_not_pad(codec, files, *id).empty()) continue;
    codec.pad = *id;
    codec.notices.push_back(
        fmt::format("padding token: \"{}\" (id {}) of the vocabulary; {}", name, *id, why));
    return;
  }
  codec.pad = codec.tokenizer.add_special_token(k_new_pad);
  codec.pad_added = true;
  codec.notices.push_back(
      fmt::format("padding token: \"{}\" was added with id {}; {}", k_new_pad, codec.pad, why));
}

}  // namespace

core::Result<TextCodec> TextCodec::open(const fs::path& folder) {
  core::Result<Tokenizer> tokenizer = Tokenizer::open(folder);
  if (!tokenizer) return tl::unexpected<core::Error>(tokenizer.error());
  const fs::path place = fs::is_directory(folder) ? folder : folder.parent_path();
  const FolderFiles files(place);
  TextCodec codec(std::move(*tokenizer));
  codec.folder = place.string();
  for (const std::string& warning : codec.tokenizer.warnings()) codec.notices.push_back(warning);
  codec.bos = find_token(files, codec.tokenizer, "bos", codec.bos_token);
  codec.eos = find_token(files, codec.tokenizer, "eos", codec.eos_token);
  if (!codec.eos)
    codec.notices.emplace_back(
        "no end-of-sequence token is declared (tokenizer_config.json, config.json): samples are "
        "not "
        "ended, and the model does not learn where to stop");
  choose_pad(files, codec);
  codec.chat_template = file_text(place / "chat_template.jinja");
  if (codec.chat_template.empty()) codec.chat_template = template_of(files.tokenizer_config);
  return codec;
}

core::Result<void> TextCodec::fits(std::int64_t embedding_rows) const {
  const auto own = static_cast<std::int64_t>(tokenizer.parts().token_texts.size());
  if (own <= embedding_rows) return {};
  return core::fail(
      core::ErrorCode::bad_format,
      fmt::format("[tokenizer] {}: the vocabulary has ids up to {}, the model's embedding only "
                  "{} rows; tokenizer and model are not of one family: take both from the "
                  "same folder",
                  folder, own - 1, embedding_rows));
}

std::string TextCodec::doubt(std::int64_t embedding_rows) const {
  std::string beyond;
  for (const AddedToken& token : tokenizer.added_tokens()) {
    const bool ours = pad_added && token.id == pad;
    if (token.id >= embedding_rows && !ours)
      beyond += fmt::format("{}\"{}\" ({})", beyond.empty() ? "" : ", ", token.content, token.id);
  }
  if (!beyond.empty())
    return fmt::format(
        "the model's embedding has {} rows and none for the added tokens {}; samples "
        "that use them are left out",
        embedding_rows, beyond);
  // Rows beyond the vocabulary are common (rounded up for the hardware: 0.3 % in Qwen 2.5, 0.2 % in
  // Phi 3); a tenth is more than any such rounding of a vocabulary of thousands.
  const std::int64_t spare = embedding_rows - rows_needed();
  if (spare <= 1024 || spare * 10 <= embedding_rows) return {};
  return fmt::format(
      "the model's embedding has {} rows, the tokenizer only {} tokens: is it this "
      "model's tokenizer?",
      embedding_rows, rows_needed());
}

}  // namespace aplomb::train::text
