/// Texts as features: what is learnt is learnt from these (tools/report_features.cpp), and holds for
/// these alone.
#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>

#include "core/letters.h"
#include "core/text.h"
#include "knowledge/text_classifier.h"

namespace aplomb::knowledge {
namespace {

using core::is_digit;
using core::is_lower;
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool goes_on(char c) { return (c & '\xC0') == '\x80'; }

/// A Chinese character: three bytes.
bool is_han(std::string_view text, std::size_t at) {
  return text[at] >= '\xE4' && text[at] <= '\xE9' && at + 2 < text.size() &&
         goes_on(text[at + 1]) && goes_on(text[at + 2]);
}

struct FreeStemmer {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

/// Snowball's English stemmer, as the trainer's PyStemmer has it. A word of another language loses
/// some other ending, and always the same one.
std::string stem(std::string_view word) {
  thread_local const std::unique_ptr<sb_stemmer, FreeStemmer> stemmer(
      sb_stemmer_new("english", "UTF_8"));
  const sb_symbol* made =
      sb_stemmer_stem(stemmer.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                      static_cast<int>(word.size()));
  if (made == nullptr) return std::string(word);  // no memory
  return {reinterpret_cast<const char*>(made),
          static_cast<std::size_t>(sb_stemmer_length(stemmer.get()))};
}

/// `1e-5` small, `8.1e+11` big; nothing for a number without a power of ten.
std::string_view power(std::string_view token) {
  const std::size_t digits = std::min(token.find_first_not_of("0123456789"), token.size());
  std::size_t at = digits;
  if (at < token.size() && token[at] == '.') {
    const std::size_t end = std::min(token.find_first_not_of("0123456789", at + 1), token.size());
    if (end == at + 1) return {};
    at = end;
  }
  if (at >= token.size() || token[at] != 'e') return {};
  ++at;
  const bool negative = at < token.size() && token[at] == '-';
  if (negative || (at < token.size() && token[at] == '+')) ++at;
  const bool whole =
      at < token.size() && token.find_first_not_of("0123456789", at) == std::string_view::npos;
  return !whole ? std::string_view() : negative ? "#small" : "#big";
}

constexpr std::string_view k_number = "#";

/// Numbers that mean something by themselves; of the others only that one stands there.
std::string_view number(std::string_view token) {
  static constexpr std::array<std::string_view, 11> k_telling = {
      "0", "0.0", "1", "1.0", "2", "8", "10", "100", "137", "1800", "65504"};
  constexpr std::string_view k_ln_two = "0.69";
  while (!token.empty() && std::string_view(".+-").find(token.back()) != std::string_view::npos)
    token.remove_suffix(1);
  if (std::find(k_telling.begin(), k_telling.end(), token) != k_telling.end()) return token;
  if (token.starts_with(k_ln_two)) return k_ln_two;
  const std::string_view told = power(token);
  return told.empty() ? k_number : told;
}

std::size_t end_of(std::string_view text, std::size_t at, std::string_view more) {
  while (at < text.size() && (is_lower(text[at]) || is_digit(text[at]) ||
                              more.find(text[at]) != std::string_view::npos))
    ++at;
  return at;
}

/// A word, and the parts of `grad_norm`.
void add_word(std::string_view word, std::vector<std::string>& out) {
  while (!word.empty() && (word.back() == '_' || word.back() == '\'')) word.remove_suffix(1);
  out.push_back(stem(word));
  if (word.find('_') == std::string_view::npos) return;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find('_', at), word.size());
    if (end - at > 1) out.push_back(stem(word.substr(at, end - at)));
    at = end + 1;
  }
}

std::vector<std::string> tokens(std::string_view sentence) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < sentence.size();) {
    if (is_lower(sentence[at])) {
      const std::size_t end = end_of(sentence, at, "_'");
      add_word(sentence.substr(at, end - at), out);
      at = end;
    } else if (is_digit(sentence[at])) {
      const std::size_t end = end_of(sentence, at, ".+-");
      out.emplace_back(number(sentence.substr(at, end - at)));
      at = end;
    } else if (is_han(sentence, at)) {
      out.emplace_back(sentence.substr(at, 3));
      at += 3;
    } else {
      ++at;
    }
  }
  return out;
}

/// Where the sentence that begins at `at` ends.
std::size_t sentence_end(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || c == '!' || c == '?' || c == ';') return at;
    if (c == '.' && at + 1 < text.size() && text[at + 1] == ' ') return at;
  }
  return at;
}

/// Addresses tell where somebody looked, not what he saw.
std::string without_addresses(std::string_view sentence) {
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::string_view rest = sentence.substr(at);
    const std::size_t head = rest.starts_with("https://") ? 8 : rest.starts_with("http://") ? 7 : 0;
    if (head == 0 || head >= rest.size() || is_blank(rest[head])) {
      out += sentence[at++];
      continue;
    }
    at += head;
    while (at < sentence.size() && !is_blank(sentence[at])) ++at;
    out += ' ';
  }
  return out;
}

}  // namespace

std::vector<std::string> word_features(std::string_view text) {
  const std::string folded = core::lower(text.substr(0, TextClassifier::k_largest_text));
  std::vector<std::string> features;
  std::unordered_set<std::string> seen;
  const auto add = [&](std::string feature) {
    if (seen.insert(feature).second) features.push_back(std::move(feature));
  };
  for (std::size_t at = 0; at < folded.size();) {
    const std::size_t end = sentence_end(folded, at);
    const auto words = tokens(without_addresses(std::string_view(folded).substr(at, end - at)));
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != k_number) add(words[i]);
      const bool pair = i + 1 < words.size() && (words[i] != k_number || words[i + 1] != k_number);
      if (pair) add(words[i] + " " + words[i + 1]);
    }
    at = end + 1;
  }
  return features;
}

}  // namespace aplomb::knowledge
