#pragma once
/// Parser: tokens -> the parsed form, by recursive descent. Statements are in jinja_parser.cpp,
/// expressions in jinja_expressions.cpp. The first fault ends it: the place moves to the end of the
/// tokens, and every loop stops.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/text/jinja_lexer.h"
#include "train/text/jinja_syntax.h"

namespace aplomb::train::text::jinja {

constexpr int k_deepest = 200;  ///< nested expressions and blocks: beyond that it is no template

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  core::Result<Block> run() {
    Block block = parse_block({});
    if (error_.empty() && !at(Kind::end)) wrong("a tag ends nothing");
    if (!error_.empty()) return core::fail(core::ErrorCode::bad_format, error_);
    return block;
  }

 private:
  using Kind = Token::Kind;
  using ExpressionKind = Expression::Kind;

  // What stands here.
  const Token& here() const { return tokens_[at_]; }
  bool at(Kind kind) const { return here().kind == kind; }
  bool at_sign(std::string_view sign) const { return at(Kind::sign) && here().text == sign; }
  bool at_name(std::string_view name) const { return at(Kind::name) && here().text == name; }
  bool take_sign(std::string_view sign) { return at_sign(sign) && step(); }
  bool take_name(std::string_view name) { return at_name(name) && step(); }
  bool step() {
    if (at_ + 1 < tokens_.size()) ++at_;
    return true;
  }
  void wrong(std::string_view what) {
    if (error_.empty()) error_ = fmt::format("line {}: {}", here().line, what);
    at_ = tokens_.size() - 1;
  }
  void need_sign(std::string_view sign) {
    if (!take_sign(sign)) wrong(fmt::format("'{}' is missing before '{}'", sign, here().text));
  }
  std::string need_name() {
    if (!at(Kind::name)) {
      wrong(fmt::format("a name is missing before '{}'", here().text));
      return {};
    }
    std::string name = here().text;
    step();
    return name;
  }

  // Statements.
  Block parse_block(const std::vector<std::string_view>& ends);
  Statement parse_tag();
  Statement parse_if();
  Statement parse_for();
  Statement parse_set();
  Statement parse_macro();
  void end_tag() {
    if (at(Kind::block_end)) {
      step();
    } else {
      wrong(fmt::format("'{}' is not expected in this tag", here().text));
    }
  }
  /// Past `{% name %}`, which must stand here.
  void closing(std::string_view name) {
    if (at(Kind::block_begin)) step();
    if (!take_name(name)) wrong(fmt::format("{{% {} %}} is missing", name));
    end_tag();
  }

  // Expressions.
  ExpressionPtr parse_expression();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_joined();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_signed(bool filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_filters(ExpressionPtr value);
  ExpressionPtr parse_subscript(ExpressionPtr value);
  ExpressionPtr parse_test(ExpressionPtr value);
  ExpressionPtr parse_list(std::string_view end);
  ExpressionPtr parse_mapping();
  ExpressionPtr parse_number();
  std::vector<Argument> parse_arguments();
  std::vector<std::string> parse_names();

  ExpressionPtr make(ExpressionKind kind, std::string text = {}) const {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->text = std::move(text);
    made->line = here().line;
    return made;
  }
  ExpressionPtr binary(std::string sign, ExpressionPtr left, ExpressionPtr right) const {
    auto made = make(ExpressionKind::binary, std::move(sign));
    made->parts.push_back(std::move(left));
    made->parts.push_back(std::move(right));
    return made;
  }
  ExpressionPtr constant(Value value) const {
    auto made = make(ExpressionKind::constant);
    made->value = std::move(value);
    return made;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

}  // namespace aplomb::train::text::jinja
