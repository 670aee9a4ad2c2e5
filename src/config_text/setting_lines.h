#pragma once
/// The forms in which programs and people write one setting on a line. Each gives entries for
/// setting_sink.h.

#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

/// `key = value`, `key: value`, `- key = value`, `'key': value, ...`, `key ...... value`, `| key |
/// value |`, with or without a logger's prefix in front. The keys of one line are alternatives from
/// longest to shortest where a prefix may belong to it or not (`INFO - Num examples` / `Num
/// examples`): see LineForm.
struct LineForm {
  std::vector<ConfigEntry>
      alternatives;  ///< one setting, the key in several lengths: the first known one counts
  std::vector<ConfigEntry> pairs;  ///< several settings on the line
};
LineForm read_line(std::string_view line, std::uint64_t number, std::uint64_t offset);

}  // namespace aplomb::config_text
