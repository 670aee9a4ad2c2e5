#include "log_samples/token_labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/text.h"

namespace aplomb::log_samples {
namespace {

constexpr std::size_t k_longest_line = 8192;
constexpr std::size_t k_most_tokens = 1024;
constexpr std::size_t k_least_tokens = 5;
constexpr std::uint64_t k_near = 4;  // lines between tokens and labels
constexpr int k_ignored = -100;      // PyTorch's ignore_index

constexpr std::array<std::string_view, 7> k_special = {"[CLS]", "[SEP]", "[PAD]", "<s>",
                                                       "</s>",  "<pad>", "[UNK]"};

bool is_special(std::string_view token) {
  return std::find(k_special.begin(), k_special.end(), token) != k_special.end();
}

/// `['[CLS]', 'the', ...]`: the words between quotes, where the list holds pieces or an opening token.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  const std::size_t open = text.find("['");
  if (open == std::string_view::npos) return tokens;
  std::size_t at = open + 1;
  while (at < text.size() && tokens.size() < k_most_tokens) {
    const char quote = text[at];
    if (quote != '\'' && quote != '"') break;
    const std::size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    tokens.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
    if (!text.substr(at).starts_with(", ")) break;
    at += 2;
  }
  return tokens;
}

/// `labels: [-100, 0, 3]`: a list of whole numbers.
std::vector<int> numbers_of(std::string_view text) {
  std::vector<int> numbers;
  std::size_t at = text.find('[');
  if (at == std::string_view::npos) return numbers;
  ++at;
  while (at < text.size() && numbers.size() < k_most_tokens) {
    while (at < text.size() && text[at] == ' ') ++at;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) return {};
    numbers.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
    if (at < text.size() && text[at] == ',') {
      ++at;
      continue;
    }
    break;
  }
  return at < text.size() && text[at] == ']' ? numbers : std::vector<int>();
}

/// Pieces that continue a word: WordPiece marks these.
bool continues(const std::string& token) { return token.size() > 2 && token.starts_with("##"); }

bool out_of_place(const std::vector<std::string>& tokens, const std::vector<int>& labels) {
  if (labels.size() < tokens.size()) return false;
  if (is_special(tokens[0]) && labels[0] != k_ignored) return true;
  // One label after another: a piece holds one, and a whole word at the end holds none.
  bool piece_has_one = false;
  bool word_has_none = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is_special(tokens[i])) continue;
    const bool piece = continues(tokens[i]);
    piece_has_one = piece_has_one || (piece && labels[i] != k_ignored);
    word_has_none = word_has_none || (!piece && labels[i] == k_ignored);
  }
  return piece_has_one && word_has_none;
}

}  // namespace

void TokenLabels::line(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  if (!text_.empty() || text.size() > k_longest_line || text.find('[') == text.npos) return;
  const bool pieces = text.find("'##") != text.npos || text.find("['[CLS]'") != text.npos ||
                      text.find("['<s>'") != text.npos;
  if (pieces) {
    tokens_ = tokens_of(text);
    tokens_line_ = number;
    return;
  }
  if (tokens_.size() < k_least_tokens || number - tokens_line_ > k_near) return;
  const std::vector<int> labels = numbers_of(text);
  // Token ids are as many, and no label is ignored among them.
  const bool are_labels = text.find("abel") != text.npos || text.find("tag") != text.npos ||
                          std::find(labels.begin(), labels.end(), k_ignored) != labels.end();
  if (!are_labels || !out_of_place(tokens_, labels)) return;
  text_ = std::string(core::trim(text).substr(0, 160));
  number_ = number;
  offset_ = offset;
}

void TokenLabels::finish(record::RunBuilder& build, record::SourceId source) const {
  if (text_.empty()) return;
  record::Event event;
  event.kind = "labels-by-position";
  event.severity = core::Severity::warning;
  event.text = text_;
  event.origin = {source, number_, offset_};
  build.event(std::move(event));
}

}  // namespace aplomb::log_samples
