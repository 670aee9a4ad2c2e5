#pragma once
/// A Jinja template as tokens: texts between tags, and what stands in the tags.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::train::text::jinja {

struct Token {
  enum class Kind {
    text,
    print_begin,
    print_end,
    block_begin,
    block_end,
    name,
    string,
    number,
    sign,
    end
  };
  Kind kind = Kind::end;
  std::string text;  ///< a string without its quotes and escapes
  int line = 0;
};

core::Result<std::vector<Token>> lex_template(std::string_view text);

}  // namespace aplomb::train::text::jinja
