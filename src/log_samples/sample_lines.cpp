#include "log_samples/sample_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/text.h"

namespace aplomb::log_samples {
namespace {

constexpr std::size_t k_longest_line = 4000;
constexpr std::size_t k_most_words = 400;
constexpr std::size_t k_least_words = 12;
constexpr std::size_t k_shortest_phrase = 2;  // words
constexpr std::size_t k_longest_phrase = 20;
constexpr std::size_t k_repeats = 3;
constexpr std::uint32_t k_least_loops = 3;
/// Equal lengths of fewer samples may be chance.
constexpr std::uint32_t k_least_counts = 3;
/// So many samples of one length, and no short one: the limit.
constexpr std::uint32_t k_sure_counts = 4;
constexpr double k_sure_tokens = 16;
constexpr double k_least_samples = 3;
constexpr std::uint32_t k_least_empty = 3;  // answers in a row, up to the last
constexpr double k_share_empty = 0.6;       // of all: the first ones may say something
constexpr double k_least_mean = 8;          // tokens: means of a few short answers may be whole

using core::is_digit;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size() && words.size() < k_most_words;) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    std::size_t end = at;
    while (end < text.size() && text[end] != ' ' && text[end] != '\t') ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Whether the line ends in one phrase three times and more; where it was cut within a word, that
/// word is left out. Rows of equal marks or numbers are tables and bars.
bool ends_in_a_loop(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  if (words.size() < k_least_words) return false;
  words.pop_back();
  for (std::size_t phrase = k_shortest_phrase; phrase <= k_longest_phrase; ++phrase) {
    const std::size_t needed = phrase * k_repeats;
    if (needed > words.size()) break;
    const std::size_t first = words.size() - needed;
    bool same = true;
    std::size_t letters = 0;
    for (std::size_t i = first + phrase; same && i < words.size(); ++i)
      same = words[i] == words[i - phrase];
    if (!same) continue;
    bool varied = false;
    for (std::size_t i = first; i < first + phrase; ++i) {
      varied = varied || words[i] != words[first];
      letters +=
          static_cast<std::size_t>(std::count_if(words[i].begin(), words[i].end(), [](char c) {
            return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
          }));
    }
    if (varied && letters >= phrase * 2) return true;
  }
  return false;
}

/// Whether an answer ends in one word or mark again and again: `within thirty days . . . . . . . .`
bool ends_in_one_mark(std::string_view text) {
  constexpr std::size_t k_again = 8;
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < k_least_words) return false;
  return std::all_of(words.end() - k_again, words.end(),
                     [&](std::string_view word) { return word == words.back(); });
}

bool is_quote(char c) { return c == '\'' || c == '"'; }

std::string_view without_quotes(std::string_view text) {
  text = core::trim(text);
  while (!text.empty() && is_quote(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> number_before(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t at = end;
  while (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '.')) --at;
  return at < end ? core::parse_number(text.substr(at, end - at)) : std::nullopt;
}

std::optional<double> number_behind(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == ':' || text[at] == '=')) ++at;
  std::size_t end = at;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  return at < end ? core::parse_number(text.substr(at, end - at)) : std::nullopt;
}

/// The whole numbers of `24, 24, 24]`; empty where anything else stands among them.
std::vector<double> numbers_in_list(std::string_view text) {
  constexpr std::size_t k_most = 512;
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size() && numbers.size() < k_most;) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos || !is_digit(text[begin])) return {};
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    const auto number = core::parse_number(text.substr(begin, end - begin));
    if (!number || end == text.size()) return {};
    numbers.push_back(*number);
    if (text[end] == ']') return numbers;
    if (text[end] != ',' && text[end] != ' ') return {};
    at = end + 1;
  }
  return {};
}

/// The key of `   A: nairobi`, in lower case; empty where the line has none.
std::string key_of(std::string_view text) {
  constexpr std::size_t k_longest_key = 20;
  text = core::trim(text);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > k_longest_key) return {};
  return core::lower(core::trim(text.substr(0, colon)));
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 16> k_answer_keys = {
    "a",         "answer", "ans",   "output",   "out", "prediction", "pred",       "predicted",
    "generated", "model",  "reply", "response", "got", "completion", "hypothesis", "generation"};
constexpr std::array<std::string_view, 17> k_beside_keys = {
    "q",    "question", "prompt", "input",  "expected", "gold", "target", "reference", "ref",
    "true", "truth",    "label",  "wanted", "correct",  "user", "source", "src"};

/// Quotes, stops and brackets alone say nothing.
bool says_nothing(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  });
}

}  // namespace

void SampleLines::line(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  if (text.size() > k_longest_line) text = text.substr(0, k_longest_line);
  at_ = {number, offset, {}};
  note_finished(text);
  note_cut(text);
  note_new_tokens(text);
  note_answer(text);
  note_list(text);
  const bool quoted = !core::trim(text).empty() && is_quote(core::trim(text).front());
  if (ends_in_a_loop(text) || (quoted && ends_in_one_mark(without_quotes(text)))) {
    ++loops_;
    last_loop_ = {number, offset, std::string(core::trim(text).substr(0, 160))};
  }
}

void SampleLines::count_answer(bool empty, const Place& place) {
  ++answers_;
  empty_run_ = empty ? empty_run_ + 1 : 0;
  if (!empty) return;
  ++empty_answers_;
  last_empty_ = place;
}

/// `A:` between a question and what was expected; `please explain bread ->`. What a key opens may
/// stand on the lines below it: it is empty only where the next line has a key of its own.
void SampleLines::note_answer(std::string_view text) {
  const std::string key = key_of(text);
  const bool answer = is_one_of(k_answer_keys, key);
  const bool beside = is_one_of(k_beside_keys, key);
  if (open_answer_) count_answer(answer || beside, open_place_);
  open_answer_ = false;
  const Place here{at_.number, at_.offset, std::string(core::trim(text).substr(0, 160))};
  if (answer) {
    const bool empty = says_nothing(core::trim(text).substr(core::trim(text).find(':') + 1));
    open_answer_ = empty;
    open_place_ = here;
    if (!empty) count_answer(false, here);
    if (ends_in_one_mark(text)) {
      ++loops_;
      last_loop_ = here;
    }
    return;
  }
  const std::size_t arrow = text.rfind("->");
  const bool of_words = arrow != std::string_view::npos && arrow > 2 && text[arrow - 1] == ' ' &&
                        !says_nothing(text.substr(0, arrow));
  if (of_words) count_answer(says_nothing(text.substr(arrow + 2)), here);
}

/// Lengths of samples, which end where not all have one length, and tokens of one.
void SampleLines::note_list(std::string_view text) {
  static constexpr std::array<std::string_view, 6> k_written = {
      "continuation", "output", "generated", "sample", "prediction", "completion"};
  constexpr std::size_t k_least_tokens = 8;
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || open == 0) return;
  const std::vector<double> numbers = numbers_in_list(text.substr(open + 1));
  if (numbers.size() < k_least_counts) return;
  const bool equal = std::all_of(numbers.begin(), numbers.end(),
                                 [&](double each) { return each == numbers.front(); });
  const std::string key = core::lower(text.substr(0, open));
  const Place here{at_.number, at_.offset, std::string(core::trim(text).substr(0, 160))};
  const bool lengths =
      key.find("len") != std::string::npos || key.find("tokens") != std::string::npos;
  const bool written = std::any_of(k_written.begin(), k_written.end(), [&](std::string_view word) {
    return key.find(word) != std::string::npos;
  });
  if (lengths) {
    // The limit stands in the same line: `max_new_tokens: 24`.
    const std::size_t most = text.find("max", open);
    const auto limit = most == std::string_view::npos
                           ? std::nullopt
                           : number_behind(text, text.find_first_of("0123456789", most));
    // Without it many equal lengths of what was generated tell it.
    const bool surely =
        written && equal && numbers.size() >= k_sure_counts && numbers.front() >= k_sure_tokens;
    if (!limit && !surely) return;
    if (equal && (surely || *limit == numbers.front())) {
      ++none_ended_;
      none_place_ = here;
    } else {
      ++some_ended_;
    }
  } else if (written && numbers.size() >= k_least_tokens) {
    one_token_ = equal;
    one_token_place_ = here;
  }
}

/// `0/6 finished before the 120 token limit`, `ended with eos: 0/20`.
void SampleLines::note_finished(std::string_view line) {
  static constexpr std::array<std::string_view, 8> k_ended = {
      "finished", "ended",       "stopped", "terminated",
      "with eos", "reached eos", "hit eos", "emitted eos"};
  if (line.find('/') == std::string_view::npos || line.size() > 200) return;
  const auto says_ended = [](std::string_view text) {
    return std::any_of(k_ended.begin(), k_ended.end(),
                       [&](std::string_view word) { return core::icontains(text, word); });
  };
  // `37/40 right, 0/40 finished`: each count belongs to its own clause.
  std::string_view text = line;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(",;|", at), line.size());
    const std::string_view clause = line.substr(at, end - at);
    if (says_ended(clause) && clause.find('/') != std::string_view::npos) text = clause;
    at = end + 1;
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || !says_ended(text) ||
      core::icontains(text, "epoch") || core::icontains(text, "step"))
    return;
  for (std::size_t at = slash; at != std::string_view::npos; at = text.find('/', at + 1)) {
    if (at == 0 || !is_digit(text[at - 1])) continue;
    const auto part = number_before(text, at);
    const auto all = number_behind(text, at + 1);
    if (!part || !all || *all < k_least_samples) continue;
    if (*part > 0) {
      ++some_ended_;
    } else {
      ++none_ended_;
      none_place_ = {at_.number, at_.offset, std::string(core::trim(text).substr(0, 160))};
    }
    return;
  }
}

/// `at limit 8/8`, `20 of 20 hit the limit`, `truncated: 0/6`: how many were cut, the other way round.
void SampleLines::note_cut(std::string_view line) {
  static constexpr std::array<std::string_view, 10> k_cut = {
      "at limit",    "at the limit", "hit limit",   "hit the limit", "hit max",
      "reached max", "at max",       "reached the", "truncated",     "cut off"};
  if (line.size() > 200 || core::icontains(line, "example") || core::icontains(line, "dataset"))
    return;
  const auto says_cut = [](std::string_view text) {
    return std::any_of(k_cut.begin(), k_cut.end(),
                       [&](std::string_view word) { return core::icontains(text, word); });
  };
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(",;|", at), line.size());
    const std::string_view clause = line.substr(at, end - at);
    at = end + 1;
    if (!says_cut(clause)) continue;
    std::size_t between = clause.find('/');
    std::size_t behind = between + 1;
    if (between == std::string_view::npos) {
      between = clause.find(" of ");
      behind = between + 4;
    }
    if (between == std::string_view::npos) continue;
    const auto part = number_before(clause, between);
    const auto all = number_behind(clause, behind);
    if (!part || !all || *all < k_least_samples || *part > *all) continue;
    if (*part < *all) {
      ++some_ended_;
    } else {
      ++none_ended_;
      none_place_ = {at_.number, at_.offset, std::string(core::trim(line).substr(0, 160))};
    }
    return;
  }
}

/// `[48 new tokens]`, `new tokens: 48`.
void SampleLines::note_new_tokens(std::string_view text) {
  static constexpr std::array<std::string_view, 4> k_names = {
      "new tokens", "new_tokens", "generated tokens", "tokens generated"};
  note_sample_tokens(text);
  for (const std::string_view name : k_names) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos || (at >= 4 && core::iequals(text.substr(at - 4, 3), "max")))
      continue;
    auto count = number_before(text, at);
    if (!count) count = number_behind(text, at + name.size());
    if (!count || *count < 2) return;
    // A mean that is a whole number to the last digit is that of equal lengths.
    const std::string_view before = text.substr(0, at);
    const bool mean =
        core::icontains(before.substr(before.size() - std::min<std::size_t>(12, before.size())),
                        "mean") ||
        core::icontains(before.substr(before.size() - std::min<std::size_t>(12, before.size())),
                        "avg");
    if (mean && *count != std::floor(*count)) ++some_ended_;
    if (mean && *count == std::floor(*count) && *count >= k_least_mean) whole_mean_ = true;
    count_tokens(*count, text);
    return;
  }
}

/// `[sample @ 113] question ... ->60 tokens: ...`, `sample 2 (48 tokens): ...`: a sample that says its own
/// length.
void SampleLines::note_sample_tokens(std::string_view text) {
  static constexpr std::array<std::string_view, 5> k_samples = {"sample", "generat", "completion",
                                                                "continuation", "output"};
  constexpr std::size_t k_head = 24;  // bytes that say what the line is
  constexpr std::string_view k_tokens = " tokens";
  const std::string_view head = text.substr(0, k_head);
  const bool sample = std::any_of(k_samples.begin(), k_samples.end(), [&](std::string_view word) {
    return core::icontains(head, word);
  });
  const std::size_t at = text.find(k_tokens);
  if (!sample || at == std::string_view::npos) return;
  const std::size_t behind = at + k_tokens.size();
  if (behind < text.size() && text[behind] != ':' && text[behind] != ')' && text[behind] != ']')
    return;
  const auto count = number_before(text, at);
  if (count && *count >= 2) count_tokens(*count, text);
}

void SampleLines::count_tokens(double count, std::string_view text) {
  if (counts_ == 0) tokens_ = count;
  ++counts_;
  if (count == tokens_) ++equal_;
  tokens_place_ = {at_.number, at_.offset, std::string(core::trim(text).substr(0, 160))};
}

void SampleLines::finish(record::RunBuilder& build, record::SourceId source) const {
  const auto put = [&](const char* kind, core::Severity severity, const Place& place) {
    record::Event event;
    event.kind = kind;
    event.severity = severity;
    event.text = place.text;
    event.origin = {source, place.number, place.offset};
    build.event(std::move(event));
  };
  const bool at_limit = counts_ >= k_least_counts && equal_ == counts_;
  const bool surely = counts_ >= k_sure_counts && equal_ == counts_ && tokens_ >= k_sure_tokens;
  if (none_ended_ > 0 && some_ended_ == 0) {
    put("samples-never-end", core::Severity::warning, none_place_);
  } else if (some_ended_ == 0 && (surely || ((at_limit || whole_mean_) && loops_ >= 2))) {
    put("samples-never-end", core::Severity::warning, tokens_place_);
  }
  if (loops_ >= k_least_loops) put("samples-loop", core::Severity::note, last_loop_);
  if (one_token_) put("samples-one-token", core::Severity::warning, one_token_place_);
  if (empty_run_ >= k_least_empty && empty_answers_ >= k_share_empty * answers_)
    put("samples-empty", core::Severity::warning, last_empty_);
}

}  // namespace aplomb::log_samples
