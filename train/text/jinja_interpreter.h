#pragma once
/// Interpreter: one run of a template. Statements are in jinja.cpp, expressions in
/// jinja_evaluate.cpp, operators in jinja_operators.cpp. The first fault is kept in error_ and ends
/// the run: from then on expressions are undefined and statements do nothing.

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/text/jinja.h"
#include "train/text/jinja_calls.h"
#include "train/text/jinja_syntax.h"

namespace aplomb::train::text::jinja {

class Interpreter {
 public:
  explicit Interpreter(Mapping variables) { scopes_.push_back(std::move(variables)); }
  core::Result<Output> run(const Block& block) {
    execute(block);
    if (!error_.empty()) return core::fail(core::ErrorCode::unsupported, error_);
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
  /// Whether a value may be kept in a name; too large or too deeply nested: wrong.
  bool fits(int line, const Value& value);
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
  Value call_macro(const Expression& expression, const Macro& macro, const Arguments& arguments);
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

}  // namespace aplomb::train::text::jinja
