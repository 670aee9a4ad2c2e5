#include "prose/text_features.h"

#include <unordered_set>

#include "core/text.h"
#include "knowledge/text_classifier.h"

namespace aplomb::prose {

using knowledge::TextClassifier;

namespace {

/// `torch==2.3.0`: a list of packages tells where a run stood, not what it did.
bool is_pinned_package(std::string_view line) {
  return line.find("==") != std::string_view::npos && line.find(' ') == std::string_view::npos;
}

}  // namespace

void TextFeatures::keep(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (head_.size() >= TextClassifier::k_largest_text || core::trim(line).empty()) return;
  if (is_pinned_package(core::trim(line))) return;
  head_ += line.substr(0, TextClassifier::k_largest_text - head_.size());
  places_.push_back({number, offset, head_.size()});
  if (reads_like_prose(line, true)) ++written_;
}

namespace {

constexpr std::uint64_t k_account_share = 3;  // of an account every third line is a sentence

}  // namespace

void TextFeatures::finish(record::RunBuilder& build, record::SourceId source) {
  record::Fact fact{std::string(TextClassifier::k_fact), {}, "the words of the text", {}};
  std::string told;
  std::unordered_set<std::string> known;
  std::size_t begin = 0;
  if (lines_ > ClaimReader::k_account_lines) places_.clear();
  if (!places_.empty() && written_ * k_account_share >= places_.size())
    build.fact(
        {std::string(TextClassifier::k_account), true, "somebody reports", {{source, 0, 0}}});
  for (const Place& place : places_) {
    std::string fresh;
    const std::string_view line = std::string_view(head_).substr(begin, place.end - begin);
    for (const std::string& feature : knowledge::word_features(line)) {
      if (!known.insert(feature).second) continue;
      if (!fresh.empty()) fresh += TextClassifier::k_between;
      fresh += feature;
    }
    begin = place.end;
    if (fresh.empty()) continue;
    if (!told.empty()) told += '\n';
    told += fresh;
    fact.evidence.push_back({source, place.line, place.offset});
  }
  if (!told.empty()) {
    fact.value = std::move(told);
    build.fact(std::move(fact));
  }
  head_.clear();
  places_.clear();
  lines_ = 0;
  written_ = 0;
}

}  // namespace aplomb::prose
