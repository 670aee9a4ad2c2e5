#include "train/text/jinja.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "train/text/jinja_calls.h"
#include "train/text/jinja_syntax.h"

namespace aplomb::train::jinja {

namespace {

constexpr std::size_t k_most_output = std::size_t{1} << 26U;  ///< 64 MiB of one conversation
constexpr std::size_t k_most_steps = 20'000'000;              ///< statements: some seconds
constexpr int k_deepest_call = 100;

class Interpreter {
 public:
  explicit Interpreter(Mapping variables) { scopes_.push_back(std::move(variables)); }
  Result<Output> run(const Block& block) {
    execute(block);
    if (!error_.empty()) return fail(ErrorCode::unsupported, error_);
    return Output{.text = std::move(out_), .generated = std::move(generated_)};
  }

 private:
  enum class Flow { on, leave, again };

  void wrong(int line, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("chat template, line {}: {}", line, what);
  }
  bool stopped() const { return !error_.empty(); }

  Flow execute(const Block& block);
  Flow execute(const Statement& statement);
  Flow loop(const Statement& statement);
  std::optional<List> loop_elements(const Statement& statement);
  void bind(const Statement& statement, const Value& value);
  void assign(const Statement& statement);
  void print(const Statement& statement);
  std::string captured(const Block& block);

  Value evaluate(const Expression& expression);
  Value evaluate_list(const Expression& expression);
  Value evaluate_mapping(const Expression& expression);
  Value attribute(const Expression& expression);
  Value index(const Expression& expression);
  Value slice(const Expression& expression);
  Value call(const Expression& expression);
  Value call_macro(const Expression& expression, const Macro& macro, Arguments arguments);
  Value filter(const Expression& expression);
  Value test(const Expression& expression);
  Value unary(const Expression& expression);
  Value binary(const Expression& expression);
  Value compared(const Expression& expression, const Value& left, const Value& right);
  Value arithmetic(const Expression& expression, const Value& left, const Value& right);
  Value whole_arithmetic(const Expression& expression, std::int64_t left, std::int64_t right);
  bool contains(const Expression& expression, const Value& element, const Value& where);
  Arguments arguments_of(const Expression& expression);
  Value settled(const Expression& expression, std::optional<Outcome> outcome,
                std::string_view what);

  Value look_up(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      Value found = get(*scope, name);
      if (!found.undefined()) return found;
    }
    if (!is_builtin(name)) return {};
    Value builtin;
    builtin.is = Builtin{std::string(name)};
    return builtin;
  }

  std::vector<Mapping> scopes_;
  std::string out_;
  std::vector<std::pair<std::size_t, std::size_t>> generated_;
  std::string error_;
  std::size_t steps_ = 0;
  int calls_ = 0;
};

Interpreter::Flow Interpreter::execute(const Block& block) {
  for (const Statement& statement : block) {
    const Flow flow = execute(statement);
    if (stopped()) return Flow::leave;
    if (flow != Flow::on) return flow;
    if (out_.size() > k_most_output) wrong(statement.line, "it writes more than 64 MiB");
    if (++steps_ > k_most_steps) wrong(statement.line, "it does not come to an end");
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::text:
      out_ += statement.text;
      break;
    case Statement::Kind::print:
      print(statement);
      break;
    case Statement::Kind::branch:
      return execute(truthy(evaluate(*statement.expression)) ? statement.body : statement.other);
    case Statement::Kind::loop:
      return loop(statement);
    case Statement::Kind::assign:
      assign(statement);
      break;
    case Statement::Kind::capture:
      put(scopes_.back(), statement.names.front(), Value(captured(statement.body)));
      break;
    case Statement::Kind::macro: {
      Value macro;
      macro.is = static_cast<const Macro*>(statement.macro.get());
      put(scopes_.back(), statement.macro->name, std::move(macro));
      break;
    }
    case Statement::Kind::generation: {
      const std::size_t begin = out_.size();
      const Flow flow = execute(statement.body);
      generated_.emplace_back(begin, out_.size());
      return flow;
    }
    case Statement::Kind::leave:
      return Flow::leave;
    case Statement::Kind::again:
      return Flow::again;
  }
  return Flow::on;
}

void Interpreter::print(const Statement& statement) {
  const Value value = evaluate(*statement.expression);
  out_ += to_text(value);
}

std::string Interpreter::captured(const Block& block) {
  std::string outside;
  outside.swap(out_);
  const std::size_t marks = generated_.size();
  execute(block);
  generated_.resize(marks);  // places in a captured text are none of the output
  outside.swap(out_);
  return outside;
}

void Interpreter::bind(const Statement& statement, const Value& value) {
  if (statement.names.size() == 1) {
    put(scopes_.back(), statement.names.front(), value);
    return;
  }
  const List* list = value.list();
  if (list == nullptr || list->size() != statement.names.size()) {
    wrong(statement.line, fmt::format("{} cannot be taken apart into {} names", kind_name(value),
                                      statement.names.size()));
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i)
    put(scopes_.back(), statement.names[i], (*list)[i]);
}

void Interpreter::assign(const Statement& statement) {
  Value value = evaluate(*statement.expression);
  if (!statement.member) {
    bind(statement, value);
    return;
  }
  const Value owner = look_up(statement.names.front());
  Mapping* map = owner.mapping();
  if (map == nullptr) {
    wrong(statement.line, fmt::format("{} is no namespace", statement.names.front()));
    return;
  }
  put(*map, statement.names.back(), std::move(value));
}

/// What the loop goes over, its filter applied.
std::optional<List> Interpreter::loop_elements(const Statement& statement) {
  const Value over = evaluate(*statement.expression);
  auto all = elements_of(over);
  if (!all) {
    wrong(statement.line, fmt::format("{} cannot be looped over", kind_name(over)));
    return std::nullopt;
  }
  if (!statement.condition) return all;
  List kept;
  for (const Value& each : *all) {
    scopes_.emplace_back();
    bind(statement, each);
    if (truthy(evaluate(*statement.condition))) kept.push_back(each);
    scopes_.pop_back();
  }
  return kept;
}

Interpreter::Flow Interpreter::loop(const Statement& statement) {
  const auto elements = loop_elements(statement);
  if (!elements || stopped()) return Flow::on;
  if (elements->empty()) return execute(statement.other);
  const auto count = static_cast<std::int64_t>(elements->size());
  for (std::int64_t i = 0; i < count && !stopped(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    Mapping state{{"index", i + 1},        {"index0", i},
                  {"revindex", count - i}, {"revindex0", count - i - 1},
                  {"first", i == 0},       {"last", i + 1 == count},
                  {"length", count}};
    if (i > 0) put(state, "previtem", (*elements)[at - 1]);
    if (i + 1 < count) put(state, "nextitem", (*elements)[at + 1]);
    scopes_.emplace_back();
    put(scopes_.back(), "loop", Value(std::move(state)));
    bind(statement, (*elements)[at]);
    const Flow flow = stopped() ? Flow::leave : execute(statement.body);
    scopes_.pop_back();
    if (flow == Flow::leave) break;
  }
  return Flow::on;
}

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

/// A Python index: negative ones count from the end. -1 where it is outside.
std::ptrdiff_t place_in(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  return index >= 0 && index < count ? static_cast<std::ptrdiff_t>(index) : -1;
}

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
  const auto count = static_cast<std::int64_t>(elements->size());
  const std::int64_t step = bound(3, 1);
  if (step == 0) {
    wrong(expression.line, "a slice's step is 0");
    return {};
  }
  const bool back = step < 0;
  const auto limited = [&](std::int64_t place, std::int64_t least, std::int64_t most) {
    return std::clamp(place < 0 ? std::max(place, -count - 1) + count : place, least, most);
  };
  std::int64_t first = back ? count - 1 : 0;
  std::int64_t last = back ? -1 : count;
  if (expression.parts[1]) first = limited(bound(1, 0), back ? -1 : 0, back ? count - 1 : count);
  if (expression.parts[2]) last = limited(bound(2, 0), back ? -1 : 0, back ? count - 1 : count);
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
  Arguments arguments = arguments_of(expression);
  if (stopped()) return {};
  if (callee.kind == Expression::Kind::attribute) {
    const Value object = evaluate(*callee.parts[0]);
    if (stopped()) return {};
    return settled(expression, call_method(object, callee.text, arguments),
                   fmt::format("the method `{}` of {}", callee.text, kind_name(object)));
  }
  const Value function = evaluate(callee);
  if (const auto* macro = function.as<const Macro*>())
    return call_macro(expression, **macro, std::move(arguments));
  const auto* builtin = function.as<Builtin>();
  const std::string what = fmt::format("the function `{}`", callee.text);
  return settled(expression,
                 builtin == nullptr ? std::nullopt : call_builtin(builtin->name, arguments), what);
}

Value Interpreter::call_macro(const Expression& expression, const Macro& macro,
                              Arguments arguments) {
  if (++calls_ > k_deepest_call) wrong(expression.line, "macros call each other without end");
  Mapping scope;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Argument& parameter = macro.parameters[i];
    const Value* given = arguments.get(i, parameter.name);
    if (given != nullptr) {
      put(scope, parameter.name, *given);
    } else if (parameter.value) {
      put(scope, parameter.name, evaluate(*parameter.value));
    }
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
  const Value left = evaluate(*expression.parts[0]);
  if (sign == "and" && !truthy(left)) return left;
  if (sign == "or" && truthy(left)) return left;
  const Value right = evaluate(*expression.parts[1]);
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

}  // namespace

Program::Program() = default;
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::parse(std::string_view text) {
  Result<Block> block = parse_template(text);
  if (!block) return tl::unexpected<Error>(block.error());
  std::shared_ptr<Program> program(new Program());
  program->block_ = std::move(*block);
  return std::shared_ptr<const Program>(std::move(program));
}

Result<Output> Program::render(Mapping variables) const {
  return Interpreter(std::move(variables)).run(block_);
}

}  // namespace aplomb::train::jinja
