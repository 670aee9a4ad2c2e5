#pragma once
/// The part of Jinja that chat templates are written in, as transformers runs them.
///
///     auto program = jinja::Program::parse(text);
///     auto output = program->render({{"messages", messages}, {"add_generation_prompt", true}});
///
/// There are: text, {{ }}, if, for (with loop, else, filter, break, continue), set (also of
/// namespace members and of blocks), macro, {% generation %}; the operators; some forty filters,
/// tests and methods (jinja_calls.cpp); range, namespace, dict, raise_exception. Not: include,
/// import, extends, call, filter blocks; and no strftime_now: templates that ask whether it is
/// defined (Llama 3) take their fixed date instead, so that the same data is the same tokens
/// tomorrow.
///
/// Nothing of a template can reach the machine; output and loops are bounded.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/text/jinja_value.h"

namespace aplomb::train::text::jinja {

struct Statement;

struct Output {
  std::string text;
  /// [begin, end) of what stood in {% generation %}.
  std::vector<std::pair<std::size_t, std::size_t>> generated;
};

class Program {
 public:
  /// Errors: line and reason.
  static core::Result<std::shared_ptr<const Program>> parse(std::string_view text);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Errors: what raise_exception() was given, or what the interpreter cannot do. Threads: yes.
  core::Result<Output> render(Mapping variables) const;

 private:
  Program();
  std::vector<Statement> block_;
};

}  // namespace aplomb::train::text::jinja
