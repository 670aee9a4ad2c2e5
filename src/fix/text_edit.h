#pragma once
/// Edits of a text by place, and where a new key belongs in each syntax.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::fix {

struct TextEdit {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  ///< bytes taken out; 0: only inserted
  std::string text;        ///< put in their place
};

/// Applies edits that do not overlap, given in any order; of several at one place the first given
/// comes first.
std::string apply_edits(std::string_view text, std::vector<TextEdit> edits);

/// Where `path = value` (already spelled) goes in; nothing where the text has no place for it (a
/// member of a map that is written in one line, say).
std::optional<TextEdit> insert_yaml(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value);
std::optional<TextEdit> insert_json(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value);
std::optional<TextEdit> insert_toml(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value);
/// Which call a keyword belongs to: `AutoTokenizer.from_pretrained`, or one of `others` that takes
/// the same keywords (`GRPOConfig` for `SFTConfig`).
struct KeywordCall {
  std::string_view name;
  const std::vector<std::string>& others;
};
/// `keyword`: `learning_rate=1e-5`. Nothing where the text makes no such call with a keyword.
std::optional<TextEdit> insert_keyword(std::string_view text,
                                       const std::vector<config_text::ConfigEntry>& entries,
                                       const KeywordCall& call, std::string_view keyword);
/// `words`: `--key value`.
std::optional<TextEdit> insert_flag(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view words);

}  // namespace aplomb::fix
