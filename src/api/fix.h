#pragma once
/// A remedy put into the user's own configuration file: values are changed where they stand, keys
/// that are missing are added, everything else (comments, order, blank lines) stays byte for byte.
///
///     auto fixed = fix_config(text, "axolotl", {{"optim.lr", 2e-5}}, "config.yml");
///     fixed->text;       // the corrected file
///     fixed->changes;    // `learning_rate: 2e-4 -> 2.0e-05 (line 12)`
///     fixed->left_out;   // settings that this file cannot hold
///
/// Syntaxes: YAML, JSON, TOML, command lines and shell scripts, and Python for keys that stand
/// there already. The file itself is not touched; the caller writes `text` wherever the user wants
/// it.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "knowledge/render.h"

namespace aplomb {

enum class ConfigSyntax { yaml, json, toml, command, python };

struct FixedConfig {
  std::string text;
  ConfigSyntax syntax = ConfigSyntax::yaml;
  std::vector<std::string> changes;  ///< one line for people each
  std::vector<std::string>
      left_out;  ///< canonical names; said to the user, for the fix is not whole without them
};

/// By the name of the file where it says so, else by the text.
ConfigSyntax syntax_of(std::string_view text, std::string_view path);

/// `framework`: slug whose keys the file holds; empty: told from its keys. Errors: bad_format (no
/// configuration in any known syntax), unsupported (none of the settings can be written into this
/// file; the text names them). Setting what is set already is no change and no error.
Result<FixedConfig> fix_config(std::string_view original, std::string_view framework,
                               const std::vector<knowledge::SettingValue>& settings,
                               std::string_view path = {});

/// The corrected text alone.
Result<std::string> apply_fix(std::string_view original, std::string_view framework,
                              const std::vector<knowledge::SettingValue>& settings);

}  // namespace aplomb
