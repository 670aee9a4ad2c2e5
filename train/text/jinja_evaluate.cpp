#include "train/text/jinja_interpreter.h"

#include <algorithm>
#include <iterator>

namespace aplomb::train::text::jinja {

Value Interpreter::evaluate(const Expression& expression) {
  if (stopped()) return {};
  switch (expression.kind) {
    case Expression::Kind::constant:
      return expression.value;
    case Expression::Kind::name:
      return look_up(expression.text);
    case Expression::Kind::list:
      return evaluate_list(expression);
    case Expression::Kind::mapping:
      return evaluate_mapping(expression);
    case Expression::Kind::attribute:
      return attribute(expression);
    case Expression::Kind::index:
      return index(expression);
    case Expression::Kind::slice:
      return slice(expression);
    case Expression::Kind::call:
      return call(expression);
    case Expression::Kind::filter:
      return filter(expression);
    case Expression::Kind::test:
      return test(expression);
    case Expression::Kind::unary:
      return unary(expression);
    case Expression::Kind::binary:
      return binary(expression);
    case Expression::Kind::conditional:
      if (truthy(evaluate(*expression.parts[0]))) return evaluate(*expression.parts[1]);
      return expression.parts[2] ? evaluate(*expression.parts[2]) : Value();
  }
  return {};
}

Value Interpreter::evaluate_list(const Expression& expression) {
  List list;
  for (const auto& part : expression.parts) list.push_back(evaluate(*part));
  return list;
}

Value Interpreter::evaluate_mapping(const Expression& expression) {
  Mapping map;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2)
    put(map, to_text(evaluate(*expression.parts[i])), evaluate(*expression.parts[i + 1]));
  return map;
}

Value Interpreter::attribute(const Expression& expression) {
  const Value owner = evaluate(*expression.parts[0]);
  if (const Mapping* map = owner.mapping()) return get(*map, expression.text);
  if (owner.undefined())
    wrong(expression.line, fmt::format("`.{}` of something that is not defined", expression.text));
  return {};
}

namespace {

constexpr int k_deepest_call = 100;

/// A Python index: negative ones count from the end. -1 where it is outside.
std::ptrdiff_t place_in(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  return index >= 0 && index < count ? static_cast<std::ptrdiff_t>(index) : -1;
}

/// A bound of a slice as Python limits it.
std::int64_t slice_bound(std::int64_t place, std::int64_t count, bool back) {
  if (place < 0) place = std::max(place, -count - 1) + count;
  return std::clamp<std::int64_t>(place, back ? -1 : 0, back ? count - 1 : count);
}

}  // namespace

Value Interpreter::index(const Expression& expression) {
  const Value owner = evaluate(*expression.parts[0]);
  const Value key = evaluate(*expression.parts[1]);
  if (stopped()) return {};
  if (const Mapping* map = owner.mapping()) return get(*map, to_text(key));
  if (owner.undefined()) {
    wrong(expression.line,
          fmt::format("[{}] of something that is not defined", to_text(key, true)));
    return {};
  }
  const auto* number = key.as<std::int64_t>();
  if (number == nullptr || (owner.list() == nullptr && owner.text() == nullptr)) return {};
  const List elements = *elements_of(owner);
  const std::ptrdiff_t place = place_in(*number, elements.size());
  return place < 0 ? Value() : elements[static_cast<std::size_t>(place)];
}

Value Interpreter::slice(const Expression& expression) {
  const Value owner = evaluate(*expression.parts[0]);
  const auto elements = elements_of(owner);
  if (!elements || owner.mapping() != nullptr) {
    wrong(expression.line, fmt::format("{} cannot be sliced", kind_name(owner)));
    return {};
  }
  const auto bound = [&](std::size_t part, std::int64_t fallback) {
    if (!expression.parts[part]) return fallback;
    const Value value = evaluate(*expression.parts[part]);
    const auto* number = value.as<std::int64_t>();
    return number == nullptr ? fallback : *number;
  };
  const std::int64_t step = bound(3, 1);
  if (step == 0) {
    wrong(expression.line, "a slice's step is 0");
    return {};
  }
  const auto count = static_cast<std::int64_t>(elements->size());
  const bool back = step < 0;
  const std::int64_t first =
      expression.parts[1] ? slice_bound(bound(1, 0), count, back) : (back ? count - 1 : 0);
  const std::int64_t last =
      expression.parts[2] ? slice_bound(bound(2, 0), count, back) : (back ? -1 : count);
  List made;
  for (std::int64_t i = first; back ? i > last : i < last; i += step)
    made.push_back((*elements)[static_cast<std::size_t>(i)]);
  if (owner.text() == nullptr) return made;
  std::string text;
  for (const Value& each : made) text += *each.text();
  return text;
}

Arguments Interpreter::arguments_of(const Expression& expression) {
  Arguments made;
  for (const Argument& argument : expression.arguments) {
    Value value = evaluate(*argument.value);
    if (argument.name.empty()) {
      made.positional.push_back(std::move(value));
    } else {
      made.named.emplace_back(argument.name, std::move(value));
    }
  }
  return made;
}

Value Interpreter::settled(const Expression& expression, std::optional<Outcome> outcome,
                           std::string_view what) {
  if (stopped()) return {};
  if (!outcome) {
    wrong(expression.line, fmt::format("{} is not supported", what));
    return {};
  }
  if (!outcome->error.empty()) wrong(expression.line, outcome->error);
  return std::move(outcome->value);
}

Value Interpreter::call(const Expression& expression) {
  const Expression& callee = *expression.parts[0];
  const Arguments arguments = arguments_of(expression);
  if (stopped()) return {};
  if (callee.kind == Expression::Kind::attribute) {
    const Value object = evaluate(*callee.parts[0]);
    if (stopped()) return {};
    return settled(expression, call_method(object, callee.text, arguments),
                   fmt::format("the method `{}` of {}", callee.text, kind_name(object)));
  }
  const Value function = evaluate(callee);
  if (const auto* macro = function.as<const Macro*>())
    return call_macro(expression, **macro, arguments);
  const auto* builtin = function.as<Builtin>();
  const std::string what = fmt::format("the function `{}`", callee.text);
  return settled(expression,
                 builtin == nullptr ? std::nullopt : call_builtin(builtin->name, arguments), what);
}

Value Interpreter::call_macro(const Expression& expression, const Macro& macro,
                              const Arguments& arguments) {
  if (++calls_ > k_deepest_call) wrong(expression.line, "macros call each other without end");
  Mapping scope;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Argument& parameter = macro.parameters[i];
    const Value* given = arguments.get(i, parameter.name);
    if (given == nullptr && !parameter.value) continue;
    Value value = given != nullptr ? *given : evaluate(*parameter.value);
    if (fits(expression.line, value)) put(scope, parameter.name, std::move(value));
  }
  // A macro sees what is global, and its own.
  std::vector<Mapping> callers(std::make_move_iterator(scopes_.begin() + 1),
                               std::make_move_iterator(scopes_.end()));
  scopes_.resize(1);
  scopes_.push_back(std::move(scope));
  std::string text = stopped() ? std::string() : captured(macro.body);
  scopes_.resize(1);
  std::move(callers.begin(), callers.end(), std::back_inserter(scopes_));
  --calls_;
  return text;
}

Value Interpreter::filter(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  const Arguments arguments = arguments_of(expression);
  if (stopped()) return {};
  return settled(expression, apply_filter(expression.text, value, arguments),
                 fmt::format("the filter `{}`", expression.text));
}

Value Interpreter::test(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  const Arguments arguments = arguments_of(expression);
  if (stopped()) return {};
  return settled(expression, apply_test(expression.text, value, arguments),
                 fmt::format("the test `{}`", expression.text));
}

}  // namespace aplomb::train::text::jinja
