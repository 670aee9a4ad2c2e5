#pragma once
/// `--color auto|always|never`, as every command that prints to a terminal has it.

#include <string>

#include "arguments/arguments.h"

namespace aplomb::cli {

inline void add_colour_option(const arguments::Verb& verb, std::string& colour) {
  verb.option("--color,--colour", colour, "colours on the terminal")
      .one_of({"auto", "always", "never"})
      .shows_default();
}

}  // namespace aplomb::cli
