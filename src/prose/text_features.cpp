#include "prose/text_features.h"

#include <algorithm>
#include <array>
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

bool is_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// `attn_implementation: eager`, `lr=3e-4`
bool is_setting(std::string_view line) {
  const std::size_t at = line.find_first_of(":=");
  if (at == std::string_view::npos || at == 0) return false;
  const auto is_word = [](std::string_view part) {
    part = core::trim(part);
    return !part.empty() && part.find_first_of(" \t") == std::string_view::npos;
  };
  const std::string_view name = core::trim(line.substr(0, at));
  // `BF16 supported: False`: a name of two words
  const std::size_t blank = name.find(' ');
  const bool is_pair = blank != std::string_view::npos && is_word(name.substr(blank + 1));
  return (is_word(name) || is_pair) && is_word(line.substr(at + 1));
}

/// `Step 0: loss: nan, grad_norm: nan`: of the words every fourth at least has a number as its value.
bool is_record(std::string_view line) {
  constexpr std::size_t k_words_a_pair = 4;
  std::size_t words = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_name(line[i]) && (i == 0 || !is_name(line[i - 1]))) ++words;
    if ((line[i] != ':' && line[i] != '=') || i == 0 || !is_name(line[i - 1])) continue;
    const std::string_view value = core::trim(line.substr(i + 1));
    const std::string start = core::lower(value.substr(0, 4));
    const bool number = !value.empty() && (value[0] == '-' || (value[0] >= '0' && value[0] <= '9'));
    if (number || start.starts_with("nan") || start.starts_with("inf")) ++pairs;
  }
  return pairs >= 1 && pairs * k_words_a_pair >= words;
}

/// `epoch 0 step 10 loss 2.3012`: every third word at least is a number.
bool is_row(std::string_view line) {
  constexpr std::size_t k_words_a_number = 3;
  std::size_t words = 0;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ' || (i > 0 && line[i - 1] != ' ')) continue;
    ++words;
    numbers += (line[i] >= '0' && line[i] <= '9') || line[i] == '-' ? 1 : 0;
  }
  return numbers >= 2 && numbers * k_words_a_number >= words;
}

/// A frame of a traceback or the code below it.
bool is_frame(std::string_view line) {
  return line.starts_with("    ") || core::trim(line).starts_with("File \"") ||
         line.starts_with("Traceback (most recent");
}

/// `torch.cuda.OutOfMemoryError: CUDA out of memory`
bool is_exception(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  if (name.size() == line.size() || name.find(' ') != std::string_view::npos) return false;
  return name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Warning");
}

bool is_written(std::string_view line) {
  return reads_like_prose(line, true) && !is_record(line) && !is_row(line) && !is_frame(line) &&
         !is_setting(core::trim(line)) && !is_exception(core::trim(line));
}

}  // namespace

void TextFeatures::keep(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (head_.size() >= TextClassifier::k_largest_text || core::trim(line).empty()) return;
  if (is_pinned_package(core::trim(line))) return;
  head_ += line.substr(0, TextClassifier::k_largest_text - head_.size());
  places_.push_back({number, offset, head_.size()});
  if (is_written(line)) ++written_;
}

namespace {

constexpr std::uint64_t k_account_share = 3;  // of an account every third line is a sentence

/// Judgement: a message of a program is a line of a dozen words; who reports tells more.
constexpr std::size_t k_message_words = 12;

/// Few words, and none of somebody who speaks of himself or asks.
bool is_message(std::string_view text) {
  constexpr std::array<std::string_view, 12> k_spoken = {
      "i", "i'm", "i've", "my", "me", "we", "our", "why", "how", "what", "you", "anyone"};
  if (text.find('?') != std::string_view::npos) return false;
  std::size_t words = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string word = core::lower(text.substr(at, end - at));
    if (std::find(k_spoken.begin(), k_spoken.end(), word) != k_spoken.end()) return false;
    words += word.empty() ? 0 : 1;
    at = end + 1;
  }
  return words > 0 && words < k_message_words;
}

}  // namespace

void TextFeatures::finish(record::RunBuilder& build, record::SourceId source) {
  record::Fact fact{std::string(TextClassifier::k_fact), {}, "the words of the text", {}};
  std::string told;
  std::unordered_set<std::string> known;
  std::size_t begin = 0;
  if (lines_ > ClaimReader::k_account_lines) places_.clear();
  const auto holds = [&](std::string_view name, const char* because) {
    build.fact({std::string(name), true, because, {{source, 0, 0}}});
  };
  if (!places_.empty() && written_ * k_account_share >= places_.size()) {
    holds(TextClassifier::k_account, "somebody reports");
    if (is_message(head_)) holds(TextClassifier::k_message, "a few words, in which nobody speaks");
  }
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
