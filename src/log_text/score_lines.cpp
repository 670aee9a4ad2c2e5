#include "log_text/score_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/letters.h"
#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_longest_line = 400;
constexpr std::size_t k_reach = 48;      // bytes from a name to its number
constexpr std::size_t k_most_parts = 4;  // `ppl major 4.0 minor 8.6`
constexpr std::size_t k_most_words = 4;  // of a name
/// The number behind these is no score: `step 20`, `over 50 prompts`.
constexpr std::array<std::string_view, 20> k_counted = {
    "step", "epoch", "iter", "it",  "iteration", "over", "of",   "first", "last",  "top",
    "n",    "after", "on",   "for", "seed",      "in",   "than", "best",  "round", "update"};

/// Words of a name that say when it was measured, not what.
constexpr std::array<std::string_view, 34> k_when = {
    "before",   "after",       "initial",  "final",      "finally", "start",      "end",
    "training", "pretraining", "adapting", "finetuning", "tuning",  "adaptation", "done",
    "step",     "epoch",       "iter",     "round",      "at",      "now",        "is",
    "was",      "the",         "a",        "of",         "on",      "untrained",  "trained",
    "still",    "today",       "info",     "result",     "results", "ep"};

constexpr std::array<std::string_view, 7> k_at_end = {"after",   "final",   "done",    "end of",
                                                      "trained", "results", "finished"};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '@';
}

using core::is_digit;

using core::is_lower;

/// The place of `word` as a word of its own from `from` on.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end >= text.size() || !is_name_char(text[end]))) return at;
  }
  return std::string_view::npos;
}

std::string_view word_before(std::string_view text, std::size_t end) {
  while (end > 0 && !is_lower(text[end - 1])) {
    if (text[end - 1] != ' ' && text[end - 1] != '=' && text[end - 1] != ':') return {};
    --end;
  }
  std::size_t at = end;
  while (at > 0 && is_lower(text[at - 1])) --at;
  return text.substr(at, end - at);
}

struct Value {
  double value = 0;
  bool share = false;   ///< of 1
  std::size_t end = 0;  ///< behind it
};

/// The number at `at`, with the total or the per cent behind it.
std::optional<Value> value_at(std::string_view text, std::size_t at) {
  const Scanned found = scan_number(text.substr(at));
  if (found.size == 0 || !std::isfinite(found.value)) return std::nullopt;
  Value value{found.value, false, at + found.size};
  std::size_t next = value.end;
  if (next < text.size() && is_name_char(text[next])) return std::nullopt;  // `4th`, `9f`
  if (next < text.size() && text[next] == '%') {
    value.share = true;
    value.value /= 100;
    value.end = next + 1;
    return value;
  }
  if (text.substr(next).starts_with(" /")) ++next;  // `0 / 16`
  if (next < text.size() && text[next] == '/') {
    std::size_t at_total = next + 1;
    if (at_total < text.size() && text[at_total] == ' ') ++at_total;
    const Scanned total = scan_number(text.substr(at_total));
    if (total.size > 0 && total.value >= found.value && total.value > 0) {
      value.share = true;
      value.value /= total.value;
      value.end = at_total + total.size;
    }
  }
  return value;
}

/// The score behind its name, within reach; numbers that count something are passed over.
std::optional<Value> value_behind(std::string_view text, std::size_t from) {
  const std::size_t reach = std::min(text.size(), from + k_reach);
  for (std::size_t at = from; at < reach; ++at) {
    const bool sign = text[at] == '-' && at + 1 < text.size() && is_digit(text[at + 1]);
    if (!is_digit(text[at]) && !sign) {
      if (text[at] == '[' || text[at] == '{' || text[at] == '(') return std::nullopt;
      continue;
    }
    const std::string_view before = word_before(text, at);
    const bool counts = std::find(k_counted.begin(), k_counted.end(), before) != k_counted.end() ||
                        (at > 0 && is_name_char(text[at - 1]));
    if (!counts) return value_at(text, at);
    while (at + 1 < reach && (is_name_char(text[at + 1]) || text[at + 1] == '.')) ++at;
  }
  return std::nullopt;
}

/// `12/200 right`: the share before its name.
std::optional<Value> share_before(std::string_view text, std::size_t name) {
  std::size_t end = name;
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t at = end;
  bool slash = false;
  while (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '/')) {
    slash = slash || text[at - 1] == '/';
    --at;
  }
  if (!slash || at == end || !is_digit(text[at])) return std::nullopt;
  return value_at(text, at);
}

/// The words around the value that name it, without those that say when: at most the last few.
std::string name_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    while (at < text.size() && !is_lower(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const bool after = !words.empty() && (words.back() == "after" || words.back() == "before");
    const bool says_when = std::find(k_when.begin(), k_when.end(), word) != k_when.end();
    if (!word.empty() && after) {
      words.pop_back();
    } else if (word == "after" || word == "before" || (!word.empty() && !says_when)) {
      words.push_back(word);
    }
    at = std::max(end, at + 1);
  }
  if (!words.empty() && (words.back() == "after" || words.back() == "before")) words.pop_back();
  std::string name;
  const std::size_t first = words.size() > k_most_words ? words.size() - k_most_words : 0;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (!name.empty()) name += ' ';
    name += words[i];
  }
  return name;
}

struct Part {
  std::string_view word;
  Value value;
};

/// `minor 8.647` behind the first value: the same measure of something else.
std::optional<Part> part_behind(std::string_view text, std::size_t from) {
  constexpr std::size_t k_longest_word = 12;
  while (from < text.size() && (text[from] == ' ' || text[from] == ',')) ++from;
  std::size_t to = from;
  while (to < text.size() && is_lower(text[to])) ++to;
  if (to == from || to - from > k_longest_word) return std::nullopt;
  const std::size_t digit = text.find_first_not_of(" =:", to);
  const std::string_view word = text.substr(from, to - from);
  const bool number = digit != std::string_view::npos && digit > to && is_digit(text[digit]);
  if (!number || std::find(k_counted.begin(), k_counted.end(), word) != k_counted.end())
    return std::nullopt;
  const std::optional<Value> value = value_at(text, digit);
  return value ? std::optional<Part>({word, *value}) : std::nullopt;
}

bool says_end(std::string_view text) {
  return std::any_of(k_at_end.begin(), k_at_end.end(), [&](std::string_view word) {
    return find_word(text, word, 0) != std::string_view::npos;
  });
}

}  // namespace

void ScoreLines::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (line.empty() || line.size() > 4096 || line.find_first_of("0123456789") == line.npos) return;
  const std::string text = core::lower(line.substr(0, k_longest_line));
  const record::FoundScore found = record::first_score_name(text);
  const record::ScoreName* named = found.name;
  const std::size_t at = found.at;
  if (named == nullptr) return;
  std::size_t end = at + named->word.size();
  std::optional<Value> value = share_before(text, at);
  if (value) {
    value->end = end;
  } else {
    value = value_behind(text, end);
  }
  if (!value) return;
  const Place place{number, offset, std::string(core::trim(line).substr(0, 160))};
  const bool ends = says_end(text);
  const bool share =
      named->more_is_better && (value->share || (value->value >= 0 && value->value <= 1));
  const std::string_view head = std::string_view(text).substr(0, std::max(end, value->end));
  note(name_of(head), named->more_is_better, share, value->value, ends, place);
  for (std::size_t i = 0; i < k_most_parts; ++i) {
    const std::optional<Part> part = part_behind(text, value->end);
    if (!part) return;
    value = part->value;
    note(std::string(named->word) + " " + std::string(part->word), named->more_is_better,
         named->more_is_better && value->value <= 1, value->value, ends, place);
  }
}

void ScoreLines::note(std::string name, bool more_is_better, bool share, double value, bool ends,
                      const Place& place) {
  const auto known = std::find_if(scores_.begin(), scores_.end(),
                                  [&](const Score& score) { return score.name == name; });
  if (known == scores_.end()) {
    if (scores_.size() >= k_most_scores) return;
    scores_.push_back({std::move(name), {more_is_better, share, ends}, place});
    scores_.back().course.add(value);
    return;
  }
  known->course.share = known->course.share && share;
  known->course.ends = ends;
  known->course.add(value);
  known->place = place;
}

void ScoreLines::finish(record::RunBuilder& build, record::SourceId source) const {
  std::uint64_t last_record = 0;
  for (const record::Series& series : build.run().series) {
    if (series.source == source && !series.empty())
      last_record = std::max(last_record, series.offset.back());
  }
  for (Score score : scores_) {
    // What is printed once, behind the last record, is what came out of it all.
    score.course.ends = score.course.ends || (last_record > 0 && score.place.offset > last_record);
    const char* kind = score.course.judged();
    if (kind == nullptr) continue;
    record::Event event;
    event.kind = kind;
    event.severity = core::Severity::note;
    event.text = score.place.text;
    event.caught["name_text"] = score.name;
    event.caught["first"] = score.course.first;
    event.caught["last"] = score.course.last;
    event.caught["count"] = static_cast<double>(score.course.count);
    event.origin = {source, score.place.number, score.place.offset};
    build.event(std::move(event));
  }
}

}  // namespace aplomb::log_text
