// The order of operators is Jinja's: conditional, or, and, not, comparison, + -, ~, * / // %, **,
// sign, then what follows a value (. [] () | is).
#include <charconv>
#include <cstdint>
#include <utility>

#include "train/text/jinja_parser.h"

namespace aplomb::train::text::jinja {

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

}  // namespace aplomb::train::text::jinja
