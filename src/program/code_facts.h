#pragma once
/// CodeReader: what fragments of Python say of a training loop, as facts `code.*`
/// (knowledge/code/*.yaml, `fragment`): log(softmax(x)), a detached hidden state, a loss summed with
/// its graph, no zero_grad, a schedule with gamma 0. Token patterns over statements, no parser and
/// no types: a fragment in a bug report begins and ends anywhere. Whole programs are parsed instead
/// where there is a Python (preflight/code_audit.h), and their findings have the same names.
///
///     CodeReader code;
///     while (...) code.line(line, number, offset);
///     code.finish(build, source);          // the facts go into the Run here
///
/// A statement goes on over lines while a bracket is open. Only the first k_most_lines lines count.
/// Comments and the contents of strings are not looked at.
///
/// A pattern is true where one statement matches one of `any` and none of `unless`; with `then` one
/// of the next three statements must match as well (`indented`: in the same block); or where the
/// text shows all of `has` and nothing of `lacks`. Where it says `whole` and the text imports, makes
/// its optimizer and steps it, the finding is sure: the fact `code.mistake.*` is true as well.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::program {

namespace code {

/// The tokens of one statement: names, numbers, `'` for any string with its text behind it,
/// operators.
struct Statement {
  std::vector<std::string> tokens;
  std::string text;  ///< as written, shortened
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  std::size_t indent = 0;  ///< blanks before it; a tab counts as Python counts it
};

/// Adds the tokens of one line. Returns how many brackets are open after it, from `depth` on.
int add_tokens(std::string_view line, int depth, std::vector<std::string>& tokens);

/// A pattern: words parted by blanks. `*loss*` is a name that holds `loss`, `_` any one token,
/// `...` up to k_reach tokens; all others stand for themselves.
std::vector<std::string> pattern_of(std::string_view text);
bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& tokens);

}  // namespace code

class CodeReader {
 public:
  static constexpr std::uint64_t k_most_lines = 5000;
  static constexpr std::size_t k_most_statement_lines = 40;

  void line(std::string_view line, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Seen {
    std::string fact;
    std::string text;
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
    std::size_t pattern = 0;  ///< the one that it matched
  };
  void close();
  void note(std::size_t pattern);
  void judge_whole();
  const Seen* find(const std::string& fact) const;

  code::Statement open_;
  int depth_ = 0;
  std::size_t open_lines_ = 0;
  std::vector<Seen> seen_;
  struct Wait {
    std::size_t left = 0;    ///< statements that the rule's second half may still come in
    std::size_t indent = 0;  ///< of its first half
  };
  std::vector<Wait> waits_;  ///< by pattern
};

}  // namespace aplomb::program
