#include "train/text/jinja.h"

#include "train/text/jinja_interpreter.h"

namespace aplomb::train::text::jinja {

namespace {
constexpr std::size_t k_most_output = std::size_t{1} << 26U;  ///< 64 MiB of one conversation
constexpr std::size_t k_most_depth = 100;         ///< lists in lists: what recursion goes into
constexpr std::size_t k_most_steps = 20'000'000;  ///< statements: some seconds
}  // namespace

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

bool Interpreter::fits(int line, const Value& value) {
  const Extent extent = value.extent();
  if (extent.depth > k_most_depth) {
    wrong(line, fmt::format("its lists are nested more than {} deep", k_most_depth));
  } else if (extent.size > k_most_output) {
    wrong(line, "a value takes more than 64 MiB");
  }
  return !stopped();
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
    if (fits(statement.line, value)) put(scopes_.back(), statement.names.front(), value);
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
  Mapping* members = owner.namespace_members();
  if (members == nullptr) {
    wrong(statement.line, fmt::format("{} is no namespace", statement.names.front()));
    return;
  }
  if (!fits(statement.line, value)) return;
  if (value.extent().has_namespace) {
    wrong(statement.line, k_nested_namespace);
    return;
  }
  put(*members, statement.names.back(), std::move(value));
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

Program::Program() = default;
Program::~Program() = default;

core::Result<std::shared_ptr<const Program>> Program::parse(std::string_view text) {
  core::Result<Block> block = parse_template(text);
  if (!block) return tl::unexpected<core::Error>(block.error());
  std::shared_ptr<Program> program(new Program());
  program->block_ = std::move(*block);
  return std::shared_ptr<const Program>(std::move(program));
}

core::Result<Output> Program::render(Mapping variables) const {
  return Interpreter(std::move(variables)).run(block_);
}

}  // namespace aplomb::train::text::jinja
