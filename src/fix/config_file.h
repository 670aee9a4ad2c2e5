#pragma once
/// ConfigFile: a configuration file as it was read, once: its syntax, its keys with the places of
/// their values, and whose keys they are.

#include <string>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::fix {

enum class ConfigSyntax { yaml, json, toml, command, python };

/// As knowledge::spell() calls it: `yaml`, `flags`.
std::string_view name_of(ConfigSyntax syntax);

struct ConfigFile {
  std::string path;  ///< empty where the text has none
  std::string text;
  ConfigSyntax syntax = ConfigSyntax::yaml;  ///< by the file's name where it tells, else the text
  std::vector<config_text::ConfigEntry> entries;
  /// Slug of the framework that the file configures, by its keys, else by words that tell it; empty
  /// where nothing does.
  std::string framework;
};

ConfigFile read_config_file(std::string text, std::string path);

}  // namespace aplomb::fix
