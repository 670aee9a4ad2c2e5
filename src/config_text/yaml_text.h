#pragma once
/// YAML -> configuration entries with the places of their values. Built on yaml-cpp's events: no
/// tree, no expansion of aliases (an alias gives no entry), so no input can blow up.

#include <string>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

struct YamlText {
  std::vector<ConfigEntry> entries;
  std::string error;  ///< why reading stopped; empty where it did not
  std::uint64_t error_line = 0;
};

/// Every document of the text. What stands before a mistake is kept.
YamlText parse_yaml(std::string_view text);

}  // namespace aplomb::config_text
