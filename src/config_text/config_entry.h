#pragma once
/// ConfigEntry: one `key = value` of a configuration text, with the place of the value so that it
/// can be cited and edited. The parsers of every syntax (nested_text, command_line, yaml_text,
/// toml_text) make lists of these, in the order of the text; setting_sink.h turns them into
/// Settings, api/fix.h edits the text at their places.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::config_text {

struct ConfigEntry {
  std::string path;  ///< dotted: `zero_optimization.stage`; items of a list by number: `betas.0`
  std::string call;  ///< last name of the call whose keyword it is: `TrainingArguments`; empty
                     ///< outside of calls
  std::string text;  ///< the value without its quotes; of a list of scalars the items joined by `,`
  std::uint64_t line = 0;    ///< from 1
  std::uint64_t offset = 0;  ///< byte of the value as written, quotes included
  std::uint64_t size = 0;    ///< bytes of it; 0 where it cannot be edited in place
  bool quoted = false;
  bool is_list = false;
  bool is_flag =
      false;  ///< from a command line: `--fp16 train.py` may mean that `train.py` is no value
  bool is_call = false;  ///< the value is what a call gives: `text` is the name of what was called
};

/// How much one text may give before the rest of it is left alone: real configurations stay far
/// below.
inline constexpr std::size_t k_most_entries = 20000;
inline constexpr std::size_t k_deepest_nesting = 64;

}  // namespace aplomb::config_text
