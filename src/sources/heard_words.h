#pragma once
/// HeardWords: the words of one artifact that somebody wrote, for WordBook (knowledge/word_book.h).
///
///     HeardWords words;
///     while (...) words.line(line);
///     words.finish(build, source);      // fact `text.words`: the features that the book knows
///
/// As for claims, texts of at most k_account_lines lines count: the words of a longer one are the
/// trainer's own. Keeps the head that the book looks at, nothing after so many lines.

#include <cstdint>
#include <string>
#include <string_view>

#include "record/run_builder.h"
#include "sources/claims.h"

namespace aplomb {

class HeardWords {
 public:
  void line(std::string_view line) {
    if (++lines_ <= ClaimReader::k_account_lines) keep(line);
  }
  void finish(RunBuilder& build, SourceId source);

 private:
  void keep(std::string_view line);

  std::string head_;
  std::uint64_t lines_ = 0;
};

}  // namespace aplomb
