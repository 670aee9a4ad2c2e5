#include "log_text/prefix.h"

#include <algorithm>
#include <array>

#include "core/letters.h"
#include "core/text.h"

namespace aplomb::log_text {
namespace {

using core::is_digit;
using core::is_name_start;

/// The number at `at` (at most 5 digits), and moves `at` behind it; -1 where there is none.
int read_int(std::string_view line, std::size_t& at) {
  int value = -1;
  for (std::size_t digits = 0; at < line.size() && is_digit(line[at]) && digits < 5; ++digits) {
    value = (value < 0 ? 0 : value) * 10 + (line[at] - '0');
    ++at;
  }
  return value;
}

bool take(std::string_view line, std::size_t& at, std::string_view piece) {
  if (!core::iequals(line.substr(at, piece.size()), piece)) return false;
  at += piece.size();
  return true;
}

void skip_blanks(std::string_view line, std::size_t& at) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
}

/// `[rank3]:`, `[default0]:`, `[Rank 2]`, `[0]<stdout>:`, `[1,3]<stderr>:`.
Prefix bracketed(std::string_view line) {
  std::size_t at = 1;
  const bool named = take(line, at, "rank") || take(line, at, "default");
  if (named) {
    take(line, at, ":");
    skip_blanks(line, at);
  }
  int rank = read_int(line, at);
  if (rank < 0) return {};
  if (!named && take(line, at, ",")) rank = read_int(line, at);  // mpirun: [job,rank]
  if (named && (take(line, at, "/") || take(line, at, " of ")) && read_int(line, at) < 0)
    return {};  // `[rank 0/2]`: of two
  if (rank < 0 || !take(line, at, "]")) return {};
  if (!named && !take(line, at, "<stderr>") && !take(line, at, "<stdout>")) return {};
  take(line, at, ":");
  return {rank, at};
}

/// Ray's actors: `(WorkerDict pid=123)`, `(TaskRunner pid=1, ip=10.0.0.1)`, also with
/// `[repeated 7x across cluster]`.
Prefix actor(std::string_view line) {
  const std::size_t close = line.find(')');
  if (close == std::string_view::npos || close > 100) return {};
  if (line.substr(0, close).find("pid=") == std::string_view::npos) return {};
  return {-1, close + 1};
}

Prefix numbered_line(std::string_view line) {
  std::size_t at = 0;
  skip_blanks(line, at);
  const int rank = read_int(line, at);
  if (rank < 0 || at >= line.size() || line[at] != ':') return {};
  return {rank, at + 1};
}

/// Calls `look` for each line that is not blank, of the first 400; how many there were.
template <typename Look>
std::size_t each_line(std::string_view head, const Look& look) {
  constexpr std::size_t k_looked_at = 400;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < head.size() && lines < k_looked_at;) {
    std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos) end = head.size();
    const std::string_view line = head.substr(at, end - at);
    at = end + 1;
    if (core::trim(line).empty()) continue;
    ++lines;
    look(line);
  }
  return lines;
}

/// `[1/4] `.
struct OfWorld {
  int rank = -1;
  int world = 0;
  std::size_t size = 0;
};

OfWorld of_world_line(std::string_view line) {
  OfWorld found;
  std::size_t at = 0;
  if (!take(line, at, "[")) return {};
  found.rank = read_int(line, at);
  if (found.rank < 0 || !take(line, at, "/")) return {};
  found.world = read_int(line, at);
  if (found.world < 2 || found.rank > found.world || !take(line, at, "]")) return {};
  found.size = at;
  return found;
}

/// `rank 0 epoch 3 ...`, `Rank 1 | ...`, `rank0: ...`.
Prefix worded_line(std::string_view line) {
  if (!core::iequals(line.substr(0, 4), "rank")) return {};
  std::size_t at = 4;
  while (at < line.size() && (line[at] == ' ' || line[at] == '=' || line[at] == '_')) ++at;
  const int rank = read_int(line, at);
  if (rank < 0 || at + 1 >= line.size()) return {};
  const std::size_t end = line.find_first_not_of(" :|,", at);
  if (end == at || end == std::string_view::npos) return {};
  return {rank, end};
}

/// Whether the line counts its steps itself: what stands before is no count.
bool counts_steps(std::string_view line) {
  static constexpr std::array<std::string_view, 6> k_counts = {"it",    "iter",      "step",
                                                               "batch", "iteration", "steps"};
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && !is_name_start(line[at])) ++at;
    std::size_t end = at;
    while (end < line.size() && is_name_start(line[end])) ++end;
    std::size_t number = end;
    while (number < line.size() &&
           (line[number] == ' ' || line[number] == '=' || line[number] == ':'))
      ++number;
    const std::string_view word = line.substr(at, end - at);
    const bool count = std::any_of(k_counts.begin(), k_counts.end(), [&](std::string_view each) {
      return core::iequals(word, each);
    });
    if (count && number < line.size() && is_digit(line[number])) return true;
    at = end;
  }
  return false;
}

/// The time of day before the rank: `23:12:44 [rank 1] `, `2026-11-22 23:12:44,123 [Rank 0]`.
std::size_t time_before_rank(std::string_view line) {
  constexpr std::size_t k_longest = 32;
  const bool bracket =
      line.size() > 1 && line[0] == '[' && is_digit(line[1]);  // `[04:12:50] [rank 0]`
  if (line.empty() || !(bracket || is_digit(line[0]))) return 0;
  const std::size_t open = line.substr(0, k_longest).find('[', bracket ? 1 : 0);
  if (open == std::string_view::npos || open == 0 || line[open - 1] != ' ') return 0;
  const std::string_view head = line.substr(0, open);
  const bool time = head.find(':') != std::string_view::npos &&
                    head.find_first_not_of("0123456789:.,-/ TZ[]") == std::string_view::npos;
  return time && core::iequals(line.substr(open + 1, 4), "rank") ? open : 0;
}

}  // namespace

Prefix read_prefix(std::string_view line, PrefixStyle style) {
  Prefix whole;
  whole.size = time_before_rank(line);
  // Launchers nest: `8: [default0]: ...`; the inner one is the nearer.
  for (int depth = 0; depth < 3; ++depth) {
    const std::string_view rest = line.substr(whole.size);
    Prefix found;
    if (rest.empty()) break;
    if (rest[0] == '[') {
      found = bracketed(rest);
      if (found.size == 0 && style.of_world) {
        const OfWorld told = of_world_line(rest);
        found = {told.rank, told.size};
      }
    } else if (rest[0] == '(') {
      found = actor(rest);
    } else if (style.numbered && depth == 0 && (rest[0] == ' ' || is_digit(rest[0]))) {
      found = numbered_line(rest);
    } else if (style.worded && depth == 0 && (rest[0] == 'r' || rest[0] == 'R')) {
      found = worded_line(rest);
    } else if (rest[0] == '>' && rest.size() > 1 && rest[1] == ' ') {
      found.size = 2;  // a quoted log in a forum post
    }
    if (found.size == 0) break;
    if (found.rank >= 0) whole.rank = found.rank;
    whole.size += found.size;
    if (whole.size < line.size() && line[whole.size] == ' ') ++whole.size;
  }
  return whole;
}

namespace {

bool is_numbered(std::string_view head) {
  std::size_t fit = 0;
  int first = -1;
  bool several = false;
  const std::size_t lines = each_line(head, [&](std::string_view line) {
    const Prefix found = numbered_line(line);
    const std::string_view rest = core::trim(line.substr(found.size));
    // Numbers behind it: darknet's `1: 605.1, 605.1 avg loss`, whose head is the step.
    const bool fits =
        found.size > 0 &&
        (rest.empty() || (line[found.size] == ' ' && !is_digit(rest[0]) && rest[0] != '-'));
    if (!fits) return;
    ++fit;
    if (first < 0) first = found.rank;
    several = several || found.rank != first;
  });
  return several && lines >= 3 && fit * 10 >= lines * 8;
}

/// Counts rise; ranks come in any order, of one world, before lines that count their steps.
bool is_of_world(std::string_view head) {
  constexpr std::size_t k_least = 4;
  constexpr std::size_t k_least_falls = 2;
  std::size_t fit = 0;
  std::size_t falls = 0;
  OfWorld last;
  bool one_world = true;
  each_line(head, [&](std::string_view line) {
    const OfWorld found = of_world_line(line);
    if (found.size == 0 || !counts_steps(line.substr(found.size))) return;
    ++fit;
    one_world = one_world && (last.world == 0 || found.world == last.world);
    if (found.rank < last.rank) ++falls;
    last = found;
  });
  return one_world && fit >= k_least && falls >= k_least_falls;
}

/// Lines of several ranks in turn, each of which says a number of its own.
bool is_worded(std::string_view head) {
  constexpr std::size_t k_least = 4;
  constexpr std::size_t k_least_falls = 1;
  std::size_t fit = 0;
  std::size_t falls = 0;
  int last = -1;
  each_line(head, [&](std::string_view line) {
    const Prefix found = worded_line(line);
    if (found.size == 0 || line.find_first_of("0123456789", found.size) == std::string_view::npos)
      return;
    ++fit;
    if (found.rank < last) ++falls;
    last = found.rank;
  });
  return fit >= k_least && falls >= k_least_falls;
}

}  // namespace

PrefixStyle prefix_style(std::string_view head) {
  return {is_numbered(head), is_of_world(head), is_worded(head)};
}

}  // namespace aplomb::log_text
