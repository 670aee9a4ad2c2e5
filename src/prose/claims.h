#pragma once
/// ClaimReader: what people say of their run, as facts `said.*` (docs/design/0005-claims.md).
///
///     ClaimReader claims(ClaimReader::Text::notes);
///     while (...) claims.line(line, number, offset);
///     claims.finish(build, source);          // the facts go into the Run here
///
///     said.loss.nonfinite = true              and .value .from .to .ratio .step .epoch
///     said.loss.nonfinite.fp16 = true         under a condition
///     said.gpu_util.value = 0.2               shares as fractions
///     said.works_with.fp32, said.fails_with.fp16, said.works_without.amp, ...
///     said.smaller_works.learning_rate        it works with a smaller value than it fails with
///     said.accuracy_gap = 0.39                training minus held-out, where both are said
///     said.about.asks_normal                  the text asks whether what it sees is normal
///
/// Only texts of at most k_account_lines lines count (docs/design/0004-what-people-write.md), and
/// in them only lines that read like prose; those that an editor wrapped are read as one. Cost:
/// nothing after that many lines; before, a few microseconds a line. Memory: at most k_most_claims.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prose/claim_parser.h"
#include "record/run_builder.h"

namespace aplomb::prose {

/// The line is a sentence that a person wrote: words and blanks, few of the signs that programs
/// print. `in_log`: among a program's output; then prefixes of loggers tell against it as well.
bool reads_like_prose(std::string_view line, bool in_log);

class ClaimReader {
 public:
  static constexpr std::uint64_t k_account_lines = 500;
  static constexpr std::size_t k_most_claims = 512;
  enum class Text : std::uint8_t { notes, log };

  explicit ClaimReader(Text text) : text_(text), parser_(prose::Lexicon::instance()) {}

  void line(std::string_view line, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Heard {
    prose::Claim claim;
    std::string quote;
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
  };
  friend class ClaimFacts;
  /// The lines of one paragraph, joined: `the loss does not\ndecrease` is one sentence.
  struct Paragraph {
    std::string text;
    std::size_t last_size = 0;  ///< bytes of its last line
    std::uint64_t line = 0, last_line = 0;
    std::uint64_t offset = 0;  ///< of its first line
  };
  bool goes_on(std::string_view line, std::uint64_t number) const;
  void hear();  ///< what stands in the open paragraph

  Text text_;
  prose::ClaimParser parser_;
  std::vector<Heard> heard_;
  Paragraph open_;
  std::uint64_t lines_ = 0;
};

}  // namespace aplomb::prose
