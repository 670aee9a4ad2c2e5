#pragma once
/// TextFeatures: the words of one artifact that somebody wrote, for TextClassifier (knowledge/text_classifier.h).
///
///     TextFeatures words;
///     while (...) words.line(line, number, offset);
///     words.finish(build, source);      // fact `text.words`
///
/// The fact's value has one line for each line of the artifact that brings new words: its features,
/// with TextClassifier::k_between between them; its evidence has their places, in the same order.
///
/// Where a third of the lines read like prose the artifact is an account, and the fact
/// `text.account` holds, with the artifact as its place: somebody reports. The words of logs and
/// programs alone are not a report's. A few words in which nobody speaks or asks may be a line that
/// a program printed: of them the fact `text.message` holds as well.
///
/// As for claims, texts of at most k_account_lines lines count: the words of a longer one are the
/// trainer's own. Keeps the head that is looked at, nothing after so many lines.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prose/claims.h"
#include "record/run_builder.h"

namespace aplomb::prose {

class TextFeatures {
 public:
  void line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
    if (++lines_ <= ClaimReader::k_account_lines) keep(line, number, offset);
  }
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Place {
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
    std::size_t end = 0;  ///< of its text in `head_`
  };
  void keep(std::string_view line, std::uint64_t number, std::uint64_t offset);

  std::string head_;
  std::vector<Place> places_;
  std::uint64_t lines_ = 0;
  std::uint64_t written_ = 0;  ///< of the places, those that read like prose
};

}  // namespace aplomb::prose
