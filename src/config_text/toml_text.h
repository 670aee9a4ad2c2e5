#pragma once
/// TOML -> configuration entries with the places of their values.

#include <string>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

struct TomlText {
  std::vector<ConfigEntry> entries;
  std::string error;  ///< empty where the text is TOML; TOML with a mistake gives no entries
  std::uint64_t error_line = 0;
};

TomlText parse_toml(std::string_view text);

}  // namespace aplomb::config_text
