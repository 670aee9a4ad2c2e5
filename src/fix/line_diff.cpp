#include "fix/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace aplomb::fix {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// One line of the edit script: ' ' kept, '-' taken out, '+' put in.
struct Step {
  char sign = ' ';
  std::string_view line;
};

void all_of(char sign, const Lines& lines, std::size_t from, std::size_t to,
            std::vector<Step>& steps) {
  for (std::size_t i = from; i < to; ++i) steps.push_back({sign, lines[i]});
}

/// The middles, by their longest common subsequence.
void middle(const Lines& before, std::size_t before_end, const Lines& after, std::size_t after_end,
            std::size_t from, std::vector<Step>& steps) {
  const std::size_t rows = before_end - from;
  const std::size_t columns = after_end - from;
  if (rows * columns > k_most_cells) {
    all_of('-', before, from, before_end, steps);
    all_of('+', after, from, after_end, steps);
    return;
  }
  // common[i][j]: lines that the tails from i and j have in common
  std::vector<std::vector<std::uint32_t>> common(rows + 1,
                                                 std::vector<std::uint32_t>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] = before[from + i] == after[from + j]
                         ? common[i + 1][j + 1] + 1
                         : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < rows && j < columns) {
    if (before[from + i] == after[from + j]) {
      steps.push_back({' ', before[from + i]});
      ++i;
      ++j;
    } else if (common[i + 1][j] >= common[i][j + 1]) {
      steps.push_back({'-', before[from + i++]});
    } else {
      steps.push_back({'+', after[from + j++]});
    }
  }
  all_of('-', before, from + i, before_end, steps);
  all_of('+', after, from + j, after_end, steps);
}

std::vector<Step> script_of(const Lines& before, const Lines& after) {
  const std::size_t least = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < least && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < least - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  std::vector<Step> steps;
  all_of(' ', before, 0, head, steps);
  middle(before, before.size() - tail, after, after.size() - tail, head, steps);
  all_of(' ', before, before.size() - tail, before.size(), steps);
  return steps;
}

/// Where a hunk that has a change at `at` ends: after `context` kept lines behind its last change.
std::size_t hunk_end(const std::vector<Step>& steps, std::size_t at, std::size_t context) {
  std::size_t kept = 0;
  std::size_t end = at;
  for (; end < steps.size() && kept <= 2 * context; ++end)
    kept = steps[end].sign == ' ' ? kept + 1 : 0;
  return end - (kept > context ? kept - context : 0);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name,
                         std::size_t context) {
  if (before == after) return {};
  const std::vector<Step> steps = script_of(lines_of(before), lines_of(after));
  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  std::size_t done = 0;
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  const auto walk = [&](std::size_t to) {
    for (; done < to; ++done) {
      old_line += steps[done].sign == '+' ? 0 : 1;
      new_line += steps[done].sign == '-' ? 0 : 1;
    }
  };
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].sign == ' ') continue;
    const std::size_t begin = std::max(done, at - std::min(at, context));
    const std::size_t end = hunk_end(steps, at, context);
    walk(begin);
    const std::size_t old_start = old_line;
    const std::size_t new_start = new_line;
    std::string lines;
    for (std::size_t i = begin; i < end; ++i) {
      lines += steps[i].sign;
      lines += steps[i].line;
      lines += '\n';
    }
    walk(end);
    const std::size_t old_count = old_line - old_start;
    const std::size_t new_count = new_line - new_start;
    // A hunk without lines on one side names the line before it, as diff does.
    out += fmt::format("@@ -{},{} +{},{} @@\n", old_start - (old_count == 0 ? 1 : 0), old_count,
                       new_start - (new_count == 0 ? 1 : 0), new_count);
    out += lines;
    at = end - 1;
  }
  return out;
}

}  // namespace aplomb::fix
