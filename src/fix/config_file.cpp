#include "fix/config_file.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "config_text/command_line.h"
#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "config_text/toml_text.h"
#include "config_text/yaml_text.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "knowledge/framework.h"

namespace aplomb::fix {
namespace {

using Entries = std::vector<config_text::ConfigEntry>;

std::optional<ConfigSyntax> syntax_of_name(std::string_view path) {
  const auto named = [&](std::initializer_list<std::string_view> ends) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view end) { return path.ends_with(end); });
  };
  if (named({".yaml", ".yml"})) return ConfigSyntax::yaml;
  if (named({".json", ".jsonc"})) return ConfigSyntax::json;
  if (named({".toml"})) return ConfigSyntax::toml;
  if (named({".sh", ".bash", ".slurm", ".sbatch"})) return ConfigSyntax::command;
  if (named({".py"})) return ConfigSyntax::python;
  return std::nullopt;
}

bool has_command(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (config_text::looks_like_command(text.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

Entries entries_of(std::string_view text, ConfigSyntax syntax) {
  switch (syntax) {
    case ConfigSyntax::yaml:
      return config_text::parse_yaml(text).entries;
    case ConfigSyntax::toml:
      return config_text::parse_toml(text).entries;
    case ConfigSyntax::command:
      return config_text::parse_command(text);
    case ConfigSyntax::json:
    case ConfigSyntax::python:
      return config_text::parse_nested(text);
  }
  return {};
}

/// Of a text whose name says nothing.
std::pair<ConfigSyntax, Entries> read_unnamed(std::string_view text) {
  for (const auto& [syntax, is_it] :
       {std::pair(ConfigSyntax::json, core::trim(text).starts_with("{")),
        std::pair(ConfigSyntax::command, has_command(text))}) {
    if (is_it) return {syntax, entries_of(text, syntax)};
  }
  config_text::YamlText yaml = config_text::parse_yaml(text);
  if (yaml.error.empty() && !yaml.entries.empty())
    return {ConfigSyntax::yaml, std::move(yaml.entries)};
  auto toml = config_text::parse_toml(text);
  if (toml.error.empty()) return {ConfigSyntax::toml, std::move(toml.entries)};
  return {ConfigSyntax::python, config_text::parse_nested(text)};
}

std::string framework_of(const ConfigFile& file) {
  const std::string_view by_keys =
      file.syntax == ConfigSyntax::python
          ? config_text::framework_of_script(file.entries, file.path, file.text)
          : config_text::framework_of(file.entries, file.path, name_of(file.syntax));
  return std::string(by_keys.empty() ? knowledge::detect_framework(file.text) : by_keys);
}

}  // namespace

std::string_view name_of(ConfigSyntax syntax) {
  static constexpr std::pair<ConfigSyntax, std::string_view> k_names[] = {
      {ConfigSyntax::yaml, "yaml"},
      {ConfigSyntax::json, "json"},
      {ConfigSyntax::toml, "toml"},
      {ConfigSyntax::command, "flags"},
      {ConfigSyntax::python, "python"}};
  return core::second_of(k_names, syntax).value_or("yaml");
}

ConfigFile read_config_file(std::string text, std::string path) {
  ConfigFile file;
  file.path = std::move(path);
  file.text = std::move(text);
  if (const auto named = syntax_of_name(file.path)) {
    file.syntax = *named;
    file.entries = entries_of(file.text, *named);
  } else {
    std::tie(file.syntax, file.entries) = read_unnamed(file.text);
  }
  file.framework = framework_of(file);
  return file;
}

}  // namespace aplomb::fix
