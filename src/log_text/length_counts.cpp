#include "log_text/length_counts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/letters.h"
#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_longest_line = 300;
/// Below it most of what is computed is thrown away; packed and length-grouped batches hold 0.9 and more
/// (arXiv:2107.02027, which finds 0.5 in Wikipedia at 512 and calls it a loss of half).
constexpr double k_waste = 0.3;
/// Tokens of a word of English in vocabularies of 30 to 50 thousand: 1.3 to 1.5.
constexpr double k_tokens_a_word = 1.5;
constexpr double k_least_length = 32;  // of a batch: shorter ones cost little
constexpr double k_most_length = 1e6;

using core::is_digit;
using core::is_lower;

std::size_t skip_to_number(std::string_view text, std::size_t from, std::size_t reach) {
  const std::size_t end = std::min(text.size(), from + reach);
  while (from < end && !is_digit(text[from])) ++from;
  return from < end ? from : std::string_view::npos;
}

/// The number behind `word`, within a few bytes.
std::optional<double> behind(std::string_view text, std::string_view word) {
  constexpr std::size_t k_reach = 24;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_lower(text[at - 1]);
    if (!begins || (end < text.size() && is_lower(text[end]))) continue;
    const std::size_t digit = skip_to_number(text, end, k_reach);
    if (digit == text.npos) continue;
    const Scanned found = scan_number(text.substr(digit));
    if (found.size > 0 && std::isfinite(found.value)) {
      const std::size_t next = digit + found.size;
      return next < text.size() && text[next] == '%' ? found.value / 100 : found.value;
    }
  }
  return std::nullopt;
}

/// `72 tokens/step`: the number before `word`.
std::optional<double> before(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos || at == 0) return std::nullopt;
  std::size_t end = at;
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  if (begin == end) return std::nullopt;
  const Scanned found = scan_number(text.substr(begin));
  return found.size == end - begin ? std::optional<double>(found.value) : std::nullopt;
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != text.npos; });
}

struct Shape {
  double samples = 0;
  double length = 0;
};

/// `input (16, 384)`, `input_ids torch.Size([16, 384])`: two whole numbers in brackets.
std::optional<Shape> shape_of(std::string_view text) {
  for (std::size_t at = text.find_first_of("(["); at != text.npos;
       at = text.find_first_of("([", at + 1)) {
    const Scanned rows = scan_number(text.substr(at + 1));
    std::size_t next = at + 1 + rows.size;
    if (rows.size == 0 || next >= text.size() || (text[next] != ',' && text[next] != 'x')) continue;
    ++next;
    while (next < text.size() && text[next] == ' ') ++next;
    const Scanned columns = scan_number(text.substr(next));
    const std::size_t end = next + columns.size;
    if (columns.size == 0 || end >= text.size() || (text[end] != ')' && text[end] != ']')) continue;
    const bool whole =
        rows.value == std::floor(rows.value) && columns.value == std::floor(columns.value);
    if (whole && rows.value >= 1 && columns.value >= k_least_length &&
        columns.value <= k_most_length)
      return Shape{rows.value, columns.value};
  }
  return std::nullopt;
}

/// `312 of 2048`, `312/2048`: as a share.
std::optional<double> share_of(std::string_view text) {
  for (const std::string_view word : {" of ", "/"}) {
    const auto part = before(text, word);
    if (!part) continue;
    const Scanned whole = scan_number(text.substr(text.find(word) + word.size()));
    if (whole.size > 0 && *part > 0 && whole.value >= k_least_length && *part <= whole.value)
      return *part / whole.value;
  }
  return std::nullopt;
}

}  // namespace

void LengthCounts::note(std::optional<Count>& count, double value, const Count& at) {
  if (count) return;
  count = at;
  count->value = value;
}

void LengthCounts::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (line.empty() || line.size() > 2048) return;
  const bool lengths = holds_any(line, {"ords", "oken", "tok/", "ength", " len", "pad", "Pad"});
  const bool shape = !length_ && holds_any(line, {"batch", "input", "ids", "shape", "Size"});
  if (!lengths && !shape) return;
  const std::string text = core::lower(line.substr(0, k_longest_line));
  const Count at{0, std::string(core::trim(line).substr(0, 160)), number, offset};
  if (shape) note_shape(text, at);
  if (lengths) note_lengths(text, at);
}

void LengthCounts::note_shape(std::string_view text, const Count& at) {
  const std::optional<Shape> found = shape_of(text);
  if (!found) return;
  note(samples_, found->samples, at);
  note(length_, found->length, at);
}

void LengthCounts::note_lengths(std::string_view text, const Count& at) {
  const bool words = text.find("words") != text.npos;
  const double tokens = words ? k_tokens_a_word : 1;
  if (words ||
      holds_any(text, {"tokens per", "token length", "length", "lengths", "seq len", "tokens/"})) {
    for (const char* word : {"mean", "avg", "average", "median"})
      if (const auto value = behind(text, word)) note(mean_, *value * tokens, at);
    for (const char* word : {"max", "longest", "maximum"})
      if (const auto value = behind(text, word)) note(longest_, *value * tokens, at);
  }
  for (const char* word : {" tokens/step", " tok/step", " tokens per step", " real tokens"})
    if (const auto value = before(text, word)) note(step_tokens_, *value, at);
  for (const char* word :
       {"pad fraction", "pad_fraction", "pad frac", "pad_frac", "padding fraction", "pad ratio",
        "pad_ratio", "padding ratio", "padding share", "pad share", "padding rate", "pad%"})
    if (const auto value = behind(text, word); value && *value <= 1) note(padding_, *value, at);
  const bool real = holds_any(text, {"real tok", "non-pad", "nonpad", "useful tok", "actual tok"});
  if (const auto share = real && holds_any(text, {"pad"}) ? share_of(text) : std::nullopt)
    note(padding_, 1 - *share, at);
}

void LengthCounts::finish(record::RunBuilder& build, record::SourceId source) const {
  double real = 1;
  const Count* place = nullptr;
  const auto take = [&](double share, const std::optional<Count>& count) {
    if (share > 0 && share < real) {
      real = share;
      place = &*count;
    }
  };
  if (padding_) take(1 - padding_->value, padding_);
  if (length_ && step_tokens_)
    take(step_tokens_->value / (samples_->value * length_->value), step_tokens_);
  // The longest sample leaves half of it free as well: no batch needs that length.
  const bool too_long = length_ && (!longest_ || 2 * longest_->value <= length_->value);
  if (too_long && mean_) take(mean_->value / length_->value, mean_);
  if (place == nullptr || real > k_waste) return;
  record::Event event;
  event.kind = "padding-counted";
  event.severity = core::Severity::warning;
  event.text = place->text;
  event.caught["real_share"] = real;
  if (length_) event.caught["positions"] = length_->value;
  event.origin = {source, place->number, place->offset};
  build.event(std::move(event));
}

}  // namespace aplomb::log_text
