#pragma once
/// A remedy put into the user's own configuration file: values are changed where they stand, keys
/// that are missing are added, everything else (comments, order, blank lines) stays byte for byte.
///
///     auto fixed = fix_config(text, "axolotl", {{"optim.lr", 2e-5}}, "config.yml");
///     fixed->text;                      // the corrected file
///     fixed->changes.front().text();    // `learning_rate: 2e-4 -> 2.0e-05 (line 12)`
///     fixed->left_out;                  // settings that this file cannot hold
///
/// Syntaxes: YAML, JSON, TOML, command lines and shell scripts, and keywords of calls in Python.
/// The file itself is not touched; the caller writes `text` wherever the user wants it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "knowledge/render.h"

namespace aplomb::fix {

enum class ConfigSyntax { yaml, json, toml, command, python };

/// One key that was changed where it stands, or added.
struct FixChange {
  std::string setting;     ///< canonical
  std::string key;         ///< as the file has it
  std::string before;      ///< the value as it stood; empty where the key was added
  std::string after;       ///< as it is spelled now
  std::uint64_t line = 0;  ///< where it stood; 0 where it was added
  bool added() const { return line == 0; }
  std::string text() const;  ///< for people
};

struct FixedConfig {
  std::string text;
  ConfigSyntax syntax = ConfigSyntax::yaml;
  std::string framework;  ///< slug of the table whose keys the file holds
  std::vector<FixChange> changes;
  std::vector<std::string> already;  ///< canonical names of what the file says as wanted
  std::vector<std::string>
      left_out;  ///< canonical names; said to the user, for the fix is not whole without them
};

/// By the name of the file where it says so, else by the text.
ConfigSyntax syntax_of(std::string_view text, std::string_view path);

/// Slug of the framework that the text configures, by its keys, else by words that tell it; empty
/// where nothing does.
std::string framework_of_config(std::string_view text, std::string_view path);

/// `framework`: slug whose keys the file holds; empty: told from its keys. Errors: bad_format (no
/// configuration in any known syntax), unsupported (none of the settings can be written into this
/// file; the text names them). Setting what is set already is no change and no error.
core::Result<FixedConfig> fix_config(std::string_view original, std::string_view framework,
                                     const std::vector<knowledge::SettingValue>& settings,
                                     std::string_view path = {},
                                     const knowledge::Versions& versions = {});

/// The corrected text alone.
core::Result<std::string> apply_fix(std::string_view original, std::string_view framework,
                                    const std::vector<knowledge::SettingValue>& settings);

}  // namespace aplomb::fix
