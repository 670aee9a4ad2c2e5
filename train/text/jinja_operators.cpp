#include "train/text/jinja_interpreter.h"

#include <algorithm>

namespace aplomb::train::text::jinja {

Value Interpreter::unary(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  if (expression.text == "not") return !truthy(value);
  const bool minus = expression.text == "-";
  if (const auto* whole = value.as<std::int64_t>()) return minus ? -*whole : *whole;
  if (const auto* real = value.as<double>()) return minus ? -*real : *real;
  wrong(expression.line, fmt::format("{} has no sign", kind_name(value)));
  return {};
}

bool Interpreter::contains(const Expression& expression, const Value& element, const Value& where) {
  if (where.text() != nullptr && element.text() != nullptr)
    return where.text()->find(*element.text()) != std::string::npos;
  const auto elements = elements_of(where);
  if (!elements) {
    wrong(expression.line, fmt::format("nothing can be in {}", kind_name(where)));
    return false;
  }
  return std::any_of(elements->begin(), elements->end(),
                     [&](const Value& each) { return equal(each, element); });
}

Value Interpreter::binary(const Expression& expression) {
  const std::string& sign = expression.text;
  Value left = evaluate(*expression.parts[0]);
  if (sign == "and" && !truthy(left)) return left;
  if (sign == "or" && truthy(left)) return left;
  Value right = evaluate(*expression.parts[1]);
  if (stopped()) return {};
  if (sign == "and" || sign == "or") return right;
  if (sign == "==") return equal(left, right);
  if (sign == "!=") return !equal(left, right);
  if (sign == "in") return contains(expression, left, right);
  if (sign == "not in") return !contains(expression, left, right);
  if (sign == "~") return to_text(left) + to_text(right);
  if (sign.front() == '<' || sign.front() == '>') return compared(expression, left, right);
  return arithmetic(expression, left, right);
}

Value Interpreter::compared(const Expression& expression, const Value& left, const Value& right) {
  bool comparable = true;
  const int order = compare(left, right, comparable);
  if (!comparable)
    wrong(expression.line, fmt::format("{} and {} cannot be compared with {}", kind_name(left),
                                       kind_name(right), expression.text));
  if (expression.text == "<") return order < 0;
  if (expression.text == "<=") return order <= 0;
  return expression.text == ">" ? order > 0 : order >= 0;
}

Value Interpreter::arithmetic(const Expression& expression, const Value& left, const Value& right) {
  const std::string& sign = expression.text;
  if (sign == "+" && left.text() != nullptr && right.text() != nullptr)
    return *left.text() + *right.text();
  if (sign == "+" && left.list() != nullptr && right.list() != nullptr) {
    List made = *left.list();
    made.insert(made.end(), right.list()->begin(), right.list()->end());
    return made;
  }
  const auto* a = left.as<std::int64_t>();
  const auto* b = right.as<std::int64_t>();
  if (a != nullptr && b != nullptr) return whole_arithmetic(expression, *a, *b);
  const auto real = [](const Value& value) -> std::optional<double> {
    if (const auto* number = value.as<std::int64_t>()) return static_cast<double>(*number);
    if (const auto* number = value.as<double>()) return *number;
    return std::nullopt;
  };
  const auto x = real(left);
  const auto y = real(right);
  if (x && y) {
    if (sign == "+") return *x + *y;
    if (sign == "-") return *x - *y;
    if (sign == "*") return *x * *y;
    if (sign == "/" && *y != 0) return *x / *y;
  }
  wrong(expression.line,
        fmt::format("{} {} {} cannot be computed", kind_name(left), sign, kind_name(right)));
  return {};
}

Value Interpreter::whole_arithmetic(const Expression& expression, std::int64_t left,
                                    std::int64_t right) {
  const std::string& sign = expression.text;
  std::int64_t made = 0;
  bool overflows = false;
  if (sign == "+") overflows = __builtin_add_overflow(left, right, &made);
  if (sign == "-") overflows = __builtin_sub_overflow(left, right, &made);
  if (sign == "*") overflows = __builtin_mul_overflow(left, right, &made);
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (overflows || (divides && right == 0) || sign == "**") {
    wrong(expression.line, fmt::format("{} {} {} cannot be computed", left, sign, right));
    return {};
  }
  if (!divides) return made;
  if (sign == "/") return static_cast<double>(left) / static_cast<double>(right);
  if (right == -1) return sign == "%" ? std::int64_t{0} : -left;
  std::int64_t quotient = left / right;  // Python rounds down
  std::int64_t rest = left % right;
  if (rest != 0 && (rest < 0) != (right < 0)) {
    --quotient;
    rest += right;
  }
  return sign == "%" ? rest : quotient;
}

}  // namespace aplomb::train::text::jinja
