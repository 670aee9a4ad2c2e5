#pragma once
/// Options that several commands have, each in one wording.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "arguments/arguments.h"

namespace aplomb::cli {

inline void add_json_flag(const arguments::Verb& verb, bool& json) {
  verb.flag("--json", json, "print the report as JSON (schema aplomb.report/1)");
}

inline void add_agent_flag(const arguments::Verb& verb, bool& agent) {
  verb.flag("--agent", agent,
            "print the report for an assistant: fewer members of the same JSON, at most 12,000 "
            "bytes, and what to ask next");
}

/// `what` is shown on the page: `the report`.
inline void add_html_option(const arguments::Verb& verb, std::string& path, std::string_view what) {
  verb.option("--html", path, fmt::format("write {} as one self-contained page", what))
      .value_name("FILE");
}

inline void add_colour_option(const arguments::Verb& verb, std::string& colour) {
  verb.option("--color,--colour", colour, "colours on the terminal")
      .one_of({"auto", "always", "never"})
      .shows_default();
}

/// `--verbose`, which shows what `all` says, and `--color`.
inline void add_terminal_options(const arguments::Verb& verb, bool& verbose, std::string_view all,
                                 std::string& colour) {
  verb.flag("--verbose,-v", verbose, fmt::format("show {}", all));
  add_colour_option(verb, colour);
}

}  // namespace aplomb::cli
