#include "log_text/prefix.h"

#include "core/text.h"

namespace aplomb::log_text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

}  // namespace

Prefix read_prefix(std::string_view line, bool numbered) {
  Prefix whole;
  // Launchers nest: `8: [default0]: ...`; the inner one is the nearer.
  for (int depth = 0; depth < 3; ++depth) {
    const std::string_view rest = line.substr(whole.size);
    Prefix found;
    if (rest.empty()) break;
    if (rest[0] == '[') {
      found = bracketed(rest);
    } else if (rest[0] == '(') {
      found = actor(rest);
    } else if (numbered && depth == 0 && (rest[0] == ' ' || is_digit(rest[0]))) {
      found = numbered_line(rest);
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

bool is_numbered(std::string_view head) {
  std::size_t lines = 0;
  std::size_t fit = 0;
  int first = -1;
  bool several = false;
  for (std::size_t at = 0; at < head.size() && lines < 400;) {
    std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos) end = head.size();
    const std::string_view line = head.substr(at, end - at);
    at = end + 1;
    if (core::trim(line).empty()) continue;
    ++lines;
    const Prefix found = numbered_line(line);
    const std::string_view rest = core::trim(line.substr(found.size));
    // Numbers behind it: darknet's `1: 605.1, 605.1 avg loss`, whose head is the step.
    const bool fits =
        found.size > 0 &&
        (rest.empty() || (line[found.size] == ' ' && !is_digit(rest[0]) && rest[0] != '-'));
    if (!fits) continue;
    ++fit;
    if (first < 0) first = found.rank;
    several = several || found.rank != first;
  }
  return several && lines >= 3 && fit * 10 >= lines * 8;
}

}  // namespace aplomb::log_text
