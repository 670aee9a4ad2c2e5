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
#include "fix/config_file.h"
#include "knowledge/render.h"

namespace aplomb::fix {

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

/// `framework`: slug whose keys the file holds; empty: told from its keys. Errors: bad_format (no
/// configuration in any known syntax), unsupported (none of the settings can be written into this
/// file; the text names them). Setting what is set already is no change and no error.
core::Result<FixedConfig> fix_config(const ConfigFile& file, std::string_view framework,
                                     const std::vector<knowledge::SettingValue>& settings,
                                     const knowledge::Versions& versions = {});

/// The same of a text that is read for this alone.
core::Result<FixedConfig> fix_config(std::string_view original, std::string_view framework,
                                     const std::vector<knowledge::SettingValue>& settings,
                                     std::string_view path = {},
                                     const knowledge::Versions& versions = {});

}  // namespace aplomb::fix
