#pragma once
/// The parsed form of a Jinja template, and its parser.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "train/text/jinja_value.h"

namespace aplomb::train::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Argument {
  std::string name;  ///< empty: by position
  ExpressionPtr value;
};

struct Expression {
  enum class Kind {
    constant,     ///< value
    name,         ///< text
    list,         ///< parts
    mapping,      ///< parts: key, value, key, value...
    attribute,    ///< parts[0].text
    index,        ///< parts[0][parts[1]]
    slice,        ///< parts[0][parts[1]:parts[2]:parts[3]], each of the three may be null
    call,         ///< parts[0](arguments)
    filter,       ///< parts[0] | text(arguments)
    test,         ///< parts[0] is text(arguments)
    unary,        ///< text: not - +
    binary,       ///< text: + - * / // % ** ~ == != < <= > >= in, "not in", and, or
    conditional,  ///< parts[1] if parts[0] else parts[2] (may be null)
  };
  Kind kind = Kind::constant;
  std::string text;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<Argument> arguments;
  int line = 0;
};

struct Statement;
using Block = std::vector<Statement>;

struct Statement {
  enum class Kind {
    text,        ///< text
    print,       ///< {{ expression }}
    branch,      ///< if expression: body, else: other (elif is a branch in other)
    loop,        ///< for names in expression if condition: body, else: other
    assign,      ///< set names = expression; set names[0].names[1] = expression with `member`
    capture,     ///< set names[0]: the text of body
    macro,       ///< macro
    generation,  ///< what the assistant says: body
    leave,       ///< break
    again,       ///< continue
  };
  Kind kind = Kind::text;
  std::string text;
  std::vector<std::string> names;
  bool member = false;
  ExpressionPtr expression;
  ExpressionPtr condition;
  Block body;
  Block other;
  std::unique_ptr<Macro> macro;
  int line = 0;
};

struct Macro {
  std::string name;
  std::vector<Argument> parameters;  ///< value: the default, may be null
  Block body;
};

/// The whole template. Whitespace is treated as transformers sets it: trim_blocks, lstrip_blocks,
/// the last line feed dropped.
core::Result<Block> parse_template(std::string_view text);

}  // namespace aplomb::train::text::jinja
