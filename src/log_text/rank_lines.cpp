#include "log_text/rank_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_shape = 96;   // bytes of a line that tell its kind
constexpr std::uint64_t k_least = 3;  // lines of a rank: one that prints once says nothing

/// The line without its numbers: `epoch # done after # steps`.
std::string shape_of(std::string_view text) {
  std::string shape;
  bool number = false;
  for (const char c : core::trim(text)) {
    const bool digit = c >= '0' && c <= '9';
    if (digit || (number && (c == '.' || c == ',' || c == 'e' || c == '-'))) {
      if (!number) shape += '#';
      number = true;
      continue;
    }
    number = false;
    shape += c;
    if (shape.size() >= k_shape) break;
  }
  return shape;
}

bool says(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return core::icontains(text, word); });
}

using core::is_digit;
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_'; }

/// A number begins here, not a part of a word or of another number.
bool is_number_at(std::string_view text, std::size_t at) {
  if (at > 0 && (is_word(static_cast<char>(text[at - 1] | 0x20)) || text[at - 1] == '.'))
    return false;
  if (is_digit(text[at])) return true;
  return text[at] == '-' && at + 1 < text.size() && is_digit(text[at + 1]);
}

std::string_view first_word(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view last_word(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_word(text[end - 1])) --end;
  std::size_t at = end;
  while (at > 0 && is_word(text[at - 1])) --at;
  return text.substr(at, end - at);
}

/// `|w|`, `param norm`, `weight checksum`; a norm of gradients is each rank's own.
bool says_weights(const std::string& before) {
  if (before.find("grad") != std::string::npos || before.find("|g") != std::string::npos)
    return false;
  if (before.find("|w|") != std::string::npos || before.find("|theta|") != std::string::npos)
    return true;
  const bool weights = before.find("weight") != std::string::npos ||
                       before.find("param") != std::string::npos || last_word(before) == "wnorm" ||
                       last_word(before) == "pnorm" || last_word(before) == "w_norm";
  const bool told = before.find("norm") != std::string::npos ||
                    before.find("sum") != std::string::npos ||
                    before.find("hash") != std::string::npos;
  return weights && told;
}

bool differ(double first, double second) {
  constexpr double k_printed = 1e-4;  // norms are printed to four digits and more
  return std::fabs(first - second) > k_printed * std::fabs(first);
}

bool says_rank(std::string_view word) {
  static constexpr std::array<std::string_view, 6> k_words = {"rank", "local_rank", "worker",
                                                              "gpu",  "process",    "proc"};
  return std::find(k_words.begin(), k_words.end(), word) != k_words.end();
}

bool says_data(std::string_view word) {
  static constexpr std::array<std::string_view, 16> k_words = {
      "records", "samples", "batches",   "examples",  "rows",   "items", "images",    "shards",
      "tokens",  "windows", "sequences", "documents", "within", "kept",  "remaining", "usable"};
  return std::find(k_words.begin(), k_words.end(), word) != k_words.end() ||
         word.find("loader") != word.npos || word.find("dataset") != word.npos;
}

/// An exception that says that others were waited for in vain.
bool says_waited(const std::string& exception) {
  return says(exception, {"timed out", "timeout", "time-out"});
}

/// The statement reduces gradients over the ranks, by itself or through the hooks of backward().
bool is_backward(const std::string& statement) {
  return says(statement, {"backward(", ".step(", "training_step"});
}

}  // namespace

void RankLines::line(std::string_view text, int rank, std::uint64_t number, std::uint64_t offset) {
  if (rank < 0 || rank >= k_most_ranks || core::trim(text).empty()) return;
  // From its traceback on a rank prints where it ended, and no more what it does.
  auto ended = tracebacks_.find(rank);
  if (core::trim(text).starts_with("Traceback (most recent call last)"))
    ended = tracebacks_.insert_or_assign(rank, Traceback{{}, {}, number, offset}).first;
  if (ended != tracebacks_.end()) {
    Traceback& traceback = ended->second;
    const std::string_view statement = core::trim(text);
    const bool marks = statement.find_first_not_of("^~ ") == std::string_view::npos;
    const bool is_file = statement.starts_with("File \"");
    if (marks || is_file || statement.starts_with("Traceback")) return;
    if (text.front() != ' ' || text.find_first_not_of(' ') < 2) {
      if (traceback.last.empty()) traceback.last = std::string(statement.substr(0, 300));
    } else if (traceback.last.empty() && traceback.statements.size() < k_most_frames) {
      traceback.statements.emplace_back(statement.substr(0, 120));
    }
    return;
  }
  Last& last = last_[rank];
  last.shape = shape_of(text);
  last.text = std::string(core::trim(text).substr(0, 200));
  last.number = number;
  last.offset = offset;
  ++last.lines;
  auto known = shapes_.find(last.shape);
  if (known == shapes_.end()) {
    if (shapes_.size() >= k_most_shapes) return;
    known = shapes_.emplace(last.shape, ByRank{}).first;
  }
  Seen& seen = known->second[rank];
  ++seen.count;
  seen.numbers = numbers_of(text);
  seen.text = last.text;
  seen.origin = {0, number, offset};
  compare(known->second, rank);
}

/// Two ranks in one line: the halves behind `r0:` and `r1:` are held against each other.
bool RankLines::side_by_side(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  constexpr std::array<std::array<std::string_view, 2>, 3> k_pairs = {
      {{"r0:", "r1:"}, {"rank0:", "rank1:"}, {"rank 0:", "rank 1:"}}};
  for (const auto& [first, second] : k_pairs) {
    const std::size_t one = text.find(first);
    const std::size_t two = text.find(second);
    if (one == std::string_view::npos || two == std::string_view::npos || two < one) continue;
    const std::vector<Number> ours =
        numbers_of(text.substr(one + first.size(), two - one - first.size()));
    const std::vector<Number> theirs = numbers_of(text.substr(two + second.size()));
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      if (!ours[i].of_weights || !differ(ours[i].value, theirs[i].value)) continue;
      if (++apart_.times == 1)
        apart_ = {1,
                  0,
                  1,
                  ours[i].value,
                  theirs[i].value,
                  std::string(core::trim(text).substr(0, 200)),
                  number,
                  offset};
    }
    return true;
  }
  return false;
}

void RankLines::worded(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  constexpr std::size_t k_head = 48;  // bytes in which a line says whose it is
  if (text.size() < 8 || side_by_side(text, number, offset)) return;
  const std::string head = core::lower(text.substr(0, k_head));
  for (std::size_t at = head.find("rank"); at != std::string::npos;
       at = head.find("rank", at + 1)) {
    std::size_t digit = at + 4;
    while (digit < head.size() && (head[digit] == ' ' || head[digit] == '=')) ++digit;
    const bool begins = at == 0 || !is_word(head[at - 1]);
    if (!begins || digit >= head.size() || !is_digit(head[digit])) continue;
    const Scanned found = scan_number(text.substr(digit));
    const std::size_t end = digit + found.size;
    const bool is_rank =
        found.size > 0 && found.value >= 0 && found.value == std::floor(found.value);
    if (is_rank && (end >= text.size() || text[end] != '/'))
      return line(text, static_cast<int>(found.value), number, offset);
  }
}

/// The numbers of a line, and what the words beside them say.
std::vector<RankLines::Number> RankLines::numbers_of(std::string_view text) {
  std::vector<Number> numbers;
  std::size_t behind = 0;  // of the number before
  for (std::size_t at = 0; at < text.size() && numbers.size() < k_most_numbers;) {
    if (!is_number_at(text, at)) {
      ++at;
      continue;
    }
    const Scanned found = scan_number(text.substr(at));
    if (found.size == 0) {
      ++at;
      continue;
    }
    const std::string_view printed = text.substr(at, found.size);
    const std::string before = core::lower(text.substr(behind, at - behind));
    behind = at + found.size;
    std::size_t end = behind;
    while (end < text.size() && !is_digit(text[end])) ++end;
    const std::string after =
        core::lower(text.substr(behind, std::min<std::size_t>(end - behind, 16)));
    Number number;
    number.value = found.value;
    number.whole = printed.find_first_of(".eE") == std::string_view::npos;
    number.of_weights = !number.whole && says_weights(before);
    number.of_data = number.whole && (says_data(first_word(after)) || says_data(last_word(before)));
    number.of_rank = number.whole && says_rank(last_word(before));
    numbers.push_back(number);
    at = behind;
  }
  return numbers;
}

/// What the rank has just printed against what others print at the same place.
void RankLines::compare(const ByRank& seen, int rank) {
  const Seen& own = seen.at(rank);
  for (const auto& [other, theirs] : seen) {
    if (other == rank || theirs.numbers.size() != own.numbers.size()) continue;
    const auto note = [&](Unlike& unlike, const Number& first, const Number& second) {
      if (++unlike.times > 1) return;
      unlike = {
          1, other, rank, first.value, second.value, own.text, own.origin.line, own.origin.offset};
    };
    bool same_place = true;
    for (std::size_t i = 0; i < own.numbers.size(); ++i) {
      same_place = same_place && (!own.numbers[i].whole || own.numbers[i].of_rank ||
                                  own.numbers[i].value == theirs.numbers[i].value);
    }
    for (std::size_t i = 0; i < own.numbers.size(); ++i) {
      const Number& first = theirs.numbers[i];
      const Number& second = own.numbers[i];
      if (same_place && second.of_weights && differ(first.value, second.value))
        note(apart_, first, second);
      // Said once by each: a count that goes up is where the rank stands.
      if (second.of_data && own.count == 1 && theirs.count == 1 && first.value != second.value)
        note(uneven_, first, second);
    }
  }
}

void RankLines::finish_unlike(const Unlike& unlike, const char* kind, const std::string& text,
                              record::RunBuilder& build, record::SourceId source) const {
  record::Event event;
  event.kind = kind;
  event.severity = core::Severity::note;
  event.text = text;
  event.caught["rank"] = static_cast<double>(unlike.first_rank);
  event.caught["other"] = static_cast<double>(unlike.second_rank);
  event.caught["value"] = unlike.first;
  event.caught["other_value"] = unlike.second;
  event.caught["times"] = static_cast<double>(unlike.times);
  event.origin = {source, unlike.number, unlike.offset};
  build.event(std::move(event));
}

/// Ranks that wait for each other stand in the same statement; where two of them do not, the one that is
/// in backward() waits for gradients that the other will not send any more.
void RankLines::finish_tracebacks(record::RunBuilder& build, record::SourceId source) const {
  for (auto one = tracebacks_.begin(); one != tracebacks_.end(); ++one) {
    for (auto two = std::next(one); two != tracebacks_.end(); ++two) {
      const auto& [rank, first] = *one;
      const auto& [other, second] = *two;
      if (!says_waited(first.last) || !says_waited(second.last)) continue;
      const auto [here, there] = std::mismatch(first.statements.begin(), first.statements.end(),
                                               second.statements.begin(), second.statements.end());
      if (here == first.statements.end() || there == second.statements.end()) continue;
      record::Event event;
      event.kind = "ranks-wait-apart";
      event.severity = core::Severity::note;
      event.text = fmt::format("rank {} waits in {}, rank {} in {}", rank, *here, other, *there);
      event.caught["rank"] = static_cast<double>(rank);
      event.caught["other"] = static_cast<double>(other);
      event.caught["statement"] = *here;
      event.caught["other_statement"] = *there;
      event.caught["one_trains"] = is_backward(*here) != is_backward(*there);
      event.origin = {source, second.number, second.offset};
      build.event(std::move(event));
      return;
    }
  }
}

std::uint32_t RankLines::count_of(const std::string& shape, int rank) const {
  const auto known = shapes_.find(shape);
  if (known == shapes_.end()) return 0;
  const auto count = known->second.find(rank);
  return count == known->second.end() ? 0 : count->second.count;
}

void RankLines::finish(record::RunBuilder& build, record::SourceId source) const {
  finish_tracebacks(build, source);
  if (last_.size() < 2 && apart_.times == 0) return;
  constexpr std::uint32_t k_least_apart = 2;  // one may be printed between two updates
  if (apart_.times >= k_least_apart) {
    finish_unlike(
        apart_, "ranks-apart",
        fmt::format("the weights of rank {} and rank {} differ: {} and {}", apart_.first_rank,
                    apart_.second_rank, core::show_number(apart_.first, 6),
                    core::show_number(apart_.second, 6)),
        build, source);
  }
  if (uneven_.times > 0) {
    finish_unlike(uneven_, "ranks-uneven",
                  fmt::format("rank {} has {}, rank {} has {}: {}", uneven_.first_rank,
                              core::show_number(uneven_.first, 7), uneven_.second_rank,
                              core::show_number(uneven_.second, 7), uneven_.text),
                  build, source);
  }
  for (const auto& [rank, last] : last_) {
    const std::uint32_t own = count_of(last.shape, rank);
    std::uint32_t others = 0;
    std::uint64_t other_lines = 0;
    for (const auto& [other, its_last] : last_) {
      if (other == rank) continue;
      others = std::max(others, count_of(last.shape, other));
      other_lines = std::max(other_lines, its_last.lines);
    }
    // A kind of line that this rank alone prints, all along, says nothing of the others.
    const bool once = own == 1 && others == 0;
    const bool ahead = others > 0 && own == others + 1;
    if (!(once || ahead) || last.lines < k_least || other_lines < k_least) continue;
    record::Event event;
    event.kind = "rank-alone";
    event.severity = core::Severity::note;
    event.rank = rank;
    event.text = fmt::format("rank {} went on to: {}", rank, last.text);
    event.caught["rank"] = static_cast<double>(rank);
    event.caught["times"] = static_cast<double>(own);
    event.caught["others"] = static_cast<double>(others);
    event.caught["saves"] = says(last.text, {"sav", "checkpoint", "ckpt", "best"});
    event.caught["ends_pass"] =
        says(last.text, {"done", "finish", "end of", "complete", "exhaust", "no more"});
    event.caught["stops"] = says(last.text, {"early stop", "stopping early", "stop training",
                                             "stopped early", "no improvement", "patience"});
    event.caught["evaluates"] = says(last.text, {"eval", "valid", "test"});
    event.origin = {source, last.number, last.offset};
    build.event(std::move(event));
    return;
  }
}

}  // namespace aplomb::log_text
