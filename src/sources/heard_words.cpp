#include "sources/heard_words.h"

#include "knowledge/word_book.h"

namespace aplomb {

using knowledge::WordBook;

void HeardWords::keep(std::string_view line) {
  if (head_.size() >= WordBook::k_largest_text) return;
  head_.append(line.substr(0, WordBook::k_largest_text)) += '\n';
}

void HeardWords::finish(RunBuilder& build, SourceId source) {
  if (lines_ > 0 && lines_ <= ClaimReader::k_account_lines) {
    std::string known;
    for (const std::string& feature : knowledge::word_features(head_)) {
      if (!WordBook::instance().knows(feature)) continue;
      if (!known.empty()) known += WordBook::k_between;
      known += feature;
    }
    if (!known.empty())
      build.fact({std::string(WordBook::k_fact),
                  std::move(known),
                  "the words of the text",
                  {{source, 1, 0}}});
  }
  head_.clear();
  lines_ = 0;
}

}  // namespace aplomb
