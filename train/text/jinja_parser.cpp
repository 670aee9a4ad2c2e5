// Recursive descent; the order of operators is Jinja's: conditional, or, and, not, comparison,
// + -, ~, * / // %, **, sign, then what follows a value (. [] () | is).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "train/text/jinja_lexer.h"
#include "train/text/jinja_syntax.h"

namespace aplomb::train::jinja {

namespace {

constexpr int k_deepest = 200;  ///< nested expressions and blocks: beyond that it is no template

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Result<Block> run() {
    Block block = parse_block({});
    if (error_.empty() && !at(Kind::end)) wrong("a tag ends nothing");
    if (!error_.empty()) return fail(ErrorCode::bad_format, error_);
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

Block Parser::parse_block(const std::vector<std::string_view>& ends) {
  Block block;
  if (++depth_ > k_deepest) wrong("the template is nested too deeply");
  while (!at(Kind::end)) {
    if (at(Kind::text)) {
      Statement text;
      text.text = here().text;
      block.push_back(std::move(text));
      step();
    } else if (at(Kind::print_begin)) {
      step();
      Statement print;
      print.kind = Statement::Kind::print;
      print.line = here().line;
      print.expression = parse_expression();
      if (!at(Kind::print_end))
        wrong(fmt::format("'{}' is not expected in {{{{ }}}}", here().text));
      step();
      block.push_back(std::move(print));
    } else {
      const Token& name = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
      if (std::find(ends.begin(), ends.end(), name.text) != ends.end()) break;
      step();
      block.push_back(parse_tag());
    }
  }
  --depth_;
  return block;
}

Statement Parser::parse_tag() {
  const int line = here().line;
  const std::string name = need_name();
  Statement made;
  if (name == "if") {
    made = parse_if();
  } else if (name == "for") {
    made = parse_for();
  } else if (name == "set") {
    made = parse_set();
  } else if (name == "macro") {
    made = parse_macro();
  } else if (name == "generation") {
    end_tag();
    made.kind = Statement::Kind::generation;
    made.body = parse_block({"endgeneration"});
    closing("endgeneration");
  } else if (name == "break" || name == "continue") {
    made.kind = name == "break" ? Statement::Kind::leave : Statement::Kind::again;
    end_tag();
  } else {
    wrong(fmt::format("the tag {{% {} %}} is not supported", name));
  }
  made.line = line;
  return made;
}

Statement Parser::parse_if() {
  Statement made;
  made.kind = Statement::Kind::branch;
  made.expression = parse_expression();
  end_tag();
  made.body = parse_block({"elif", "else", "endif"});
  if (at(Kind::block_begin)) step();
  if (take_name("elif")) {
    if (++depth_ > k_deepest) wrong("too many branches");
    made.other.push_back(parse_if());
    --depth_;
    return made;
  }
  if (take_name("else")) {
    end_tag();
    made.other = parse_block({"endif"});
  }
  closing("endif");
  return made;
}

std::vector<std::string> Parser::parse_names() {
  std::vector<std::string> names{need_name()};
  while (take_sign(",")) names.push_back(need_name());
  return names;
}

Statement Parser::parse_for() {
  Statement made;
  made.kind = Statement::Kind::loop;
  made.names = parse_names();
  if (!take_name("in")) wrong("`in` is missing in {% for %}");
  made.expression = parse_or();  // no conditional here: `if` filters the loop
  if (take_name("if")) made.condition = parse_expression();
  end_tag();
  made.body = parse_block({"else", "endfor"});
  if (at(Kind::block_begin)) step();
  if (take_name("else")) {
    end_tag();
    made.other = parse_block({"endfor"});
  }
  closing("endfor");
  return made;
}

Statement Parser::parse_set() {
  Statement made;
  made.kind = Statement::Kind::assign;
  made.names = parse_names();
  if (take_sign(".")) {
    made.member = true;
    made.names.push_back(need_name());
  }
  if (take_sign("=")) {
    made.expression = parse_expression();
    end_tag();
    return made;
  }
  made.kind = Statement::Kind::capture;
  end_tag();
  made.body = parse_block({"endset"});
  closing("endset");
  return made;
}

Statement Parser::parse_macro() {
  Statement made;
  made.kind = Statement::Kind::macro;
  made.macro = std::make_unique<Macro>();
  made.macro->name = need_name();
  need_sign("(");
  while (error_.empty() && !at_sign(")")) {
    Argument parameter{.name = need_name(), .value = nullptr};
    if (take_sign("=")) parameter.value = parse_expression();
    made.macro->parameters.push_back(std::move(parameter));
    if (!take_sign(",")) break;
  }
  need_sign(")");
  end_tag();
  made.macro->body = parse_block({"endmacro"});
  closing("endmacro");
  return made;
}

ExpressionPtr Parser::parse_expression() {
  if (++depth_ > k_deepest) wrong("an expression is nested too deeply");
  ExpressionPtr value = parse_or();
  while (take_name("if")) {
    auto made = make(ExpressionKind::conditional);
    made->parts.push_back(parse_or());
    made->parts.push_back(std::move(value));
    made->parts.push_back(take_name("else") ? parse_expression() : nullptr);
    value = std::move(made);
  }
  --depth_;
  return value;
}

ExpressionPtr Parser::parse_or() {
  ExpressionPtr value = parse_and();
  while (take_name("or")) value = binary("or", std::move(value), parse_and());
  return value;
}

ExpressionPtr Parser::parse_and() {
  ExpressionPtr value = parse_not();
  while (take_name("and")) value = binary("and", std::move(value), parse_not());
  return value;
}

ExpressionPtr Parser::parse_not() {
  bool negated = false;
  while (take_name("not")) negated = !negated;
  ExpressionPtr value = parse_comparison();
  if (!negated) return value;
  auto made = make(ExpressionKind::unary, "not");
  made->parts.push_back(std::move(value));
  return made;
}

ExpressionPtr Parser::parse_comparison() {
  ExpressionPtr value = parse_sum();
  // a < b < c is a < b and b < c in Jinja; no chat template compares so, and it is refused.
  bool compared = false;
  while (true) {
    std::string sign;
    for (const std::string_view each : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (sign.empty() && take_sign(each)) sign = each;
    }
    if (sign.empty() && take_name("in")) sign = "in";
    if (sign.empty() && at_name("not") && tokens_[at_ + 1].text == "in") {
      step();
      step();
      sign = "not in";
    }
    if (sign.empty()) return value;
    if (compared) wrong("comparisons in a row (a < b < c) are not supported");
    compared = true;
    value = binary(sign, std::move(value), parse_sum());
  }
}

ExpressionPtr Parser::parse_sum() {
  ExpressionPtr value = parse_joined();
  while (at_sign("+") || at_sign("-")) {
    std::string sign = here().text;
    step();
    value = binary(std::move(sign), std::move(value), parse_joined());
  }
  return value;
}

ExpressionPtr Parser::parse_joined() {
  ExpressionPtr value = parse_product();
  while (take_sign("~")) value = binary("~", std::move(value), parse_product());
  return value;
}

ExpressionPtr Parser::parse_product() {
  ExpressionPtr value = parse_power();
  while (at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%")) {
    std::string sign = here().text;
    step();
    value = binary(std::move(sign), std::move(value), parse_power());
  }
  return value;
}

ExpressionPtr Parser::parse_power() {
  ExpressionPtr value = parse_signed(true);
  while (take_sign("**")) value = binary("**", std::move(value), parse_signed(true));
  return value;
}

ExpressionPtr Parser::parse_signed(bool filters) {
  if (++depth_ > k_deepest) wrong("an expression is nested too deeply");
  ExpressionPtr value;
  if (at_sign("-") || at_sign("+")) {
    auto made = make(ExpressionKind::unary, here().text);
    step();
    made->parts.push_back(parse_signed(false));
    value = std::move(made);
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  if (filters) value = parse_filters(std::move(value));
  --depth_;
  return value;
}

ExpressionPtr Parser::parse_number() {
  const std::string text = here().text;
  step();
  double real = 0;
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, whole).ptr == end) return constant(whole);
  std::from_chars(text.data(), end, real);
  return constant(real);
}

ExpressionPtr Parser::parse_primary() {
  if (at(Kind::number)) return parse_number();
  if (at(Kind::string)) {
    std::string text;
    for (; at(Kind::string); step()) text += here().text;  // "a" "b" is "ab"
    return constant(std::move(text));
  }
  if (take_sign("(")) return parse_list(")");
  if (take_sign("[")) return parse_list("]");
  if (take_sign("{")) return parse_mapping();
  if (!at(Kind::name)) {
    wrong(fmt::format("a value is missing before '{}'", here().text));
    return constant({});
  }
  const std::string name = need_name();
  if (name == "true" || name == "True") return constant(true);
  if (name == "false" || name == "False") return constant(false);
  if (name == "none" || name == "None") return constant(None());
  return make(ExpressionKind::name, name);
}

/// A list, a tuple, or one value in parentheses.
ExpressionPtr Parser::parse_list(std::string_view end) {
  auto made = make(ExpressionKind::list);
  bool comma = false;
  while (error_.empty() && !at_sign(end)) {
    made->parts.push_back(parse_expression());
    if (!at_sign(",")) break;
    comma = take_sign(",");
  }
  need_sign(end);
  if (end == ")" && made->parts.size() == 1 && !comma) return std::move(made->parts.front());
  return made;
}

ExpressionPtr Parser::parse_mapping() {
  auto made = make(ExpressionKind::mapping);
  while (error_.empty() && !at_sign("}")) {
    made->parts.push_back(parse_expression());
    need_sign(":");
    made->parts.push_back(parse_expression());
    if (!take_sign(",")) break;
  }
  need_sign("}");
  return made;
}

std::vector<Argument> Parser::parse_arguments() {
  std::vector<Argument> arguments;
  while (error_.empty() && !at_sign(")")) {
    Argument argument;
    const bool named =
        at(Kind::name) && tokens_[at_ + 1].kind == Kind::sign && tokens_[at_ + 1].text == "=";
    if (named) {
      argument.name = need_name();
      step();
    }
    argument.value = parse_expression();
    arguments.push_back(std::move(argument));
    if (!take_sign(",")) break;
  }
  need_sign(")");
  return arguments;
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr value) {
  ExpressionPtr bounds[3];
  int count = 0;
  bool slices = false;
  while (error_.empty() && !at_sign("]") && count < 3) {
    if (!at_sign(":")) bounds[count] = parse_expression();
    if (!take_sign(":")) break;
    slices = true;
    ++count;
  }
  need_sign("]");
  auto made = make(slices ? ExpressionKind::slice : ExpressionKind::index);
  made->parts.push_back(std::move(value));
  for (int i = 0; i < (slices ? 3 : 1); ++i) made->parts.push_back(std::move(bounds[i]));
  if (!slices && made->parts[1] == nullptr) wrong("[] has nothing in it");
  return made;
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr value) {
  while (error_.empty()) {
    if (take_sign(".")) {
      auto made = make(ExpressionKind::attribute, here().text);
      if (!at(Kind::name) && !at(Kind::number)) wrong("a name is missing after '.'");
      step();
      made->parts.push_back(std::move(value));
      value = std::move(made);
    } else if (take_sign("[")) {
      value = parse_subscript(std::move(value));
    } else if (take_sign("(")) {
      auto made = make(ExpressionKind::call);
      made->parts.push_back(std::move(value));
      made->arguments = parse_arguments();
      value = std::move(made);
    } else {
      break;
    }
  }
  return value;
}

ExpressionPtr Parser::parse_test(ExpressionPtr value) {
  const bool negated = take_name("not");
  auto made = make(ExpressionKind::test, need_name());
  made->parts.push_back(std::move(value));
  const bool keyword = at_name("and") || at_name("or") || at_name("else") || at_name("is") ||
                       at_name("if") || at_name("in") || at_name("not");
  if (take_sign("(")) {
    made->arguments = parse_arguments();
  } else if (!keyword && (at(Kind::name) || at(Kind::string) || at(Kind::number) || at_sign("["))) {
    Argument argument;
    argument.value = parse_postfix(parse_primary());
    made->arguments.push_back(std::move(argument));
  }
  if (!negated) return made;
  auto inverse = make(ExpressionKind::unary, "not");
  inverse->parts.push_back(std::move(made));
  return inverse;
}

ExpressionPtr Parser::parse_filters(ExpressionPtr value) {
  while (error_.empty()) {
    if (take_sign("|")) {
      auto made = make(ExpressionKind::filter, need_name());
      made->parts.push_back(std::move(value));
      if (take_sign("(")) made->arguments = parse_arguments();
      value = std::move(made);
    } else if (take_name("is")) {
      value = parse_test(std::move(value));
    } else if (at_sign("(") || at_sign(".") || at_sign("[")) {
      value = parse_postfix(std::move(value));
    } else {
      break;
    }
  }
  return value;
}

}  // namespace

Result<Block> parse_template(std::string_view text) {
  Result<std::vector<Token>> tokens = lex_template(text);
  if (!tokens) return tl::unexpected<Error>(tokens.error());
  return Parser(std::move(*tokens)).run();
}

}  // namespace aplomb::train::jinja
