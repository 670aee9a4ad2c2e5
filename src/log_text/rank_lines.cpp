#include "log_text/rank_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "core/text.h"

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

}  // namespace

void RankLines::line(std::string_view text, int rank, std::uint64_t number, std::uint64_t offset) {
  if (rank < 0 || rank >= k_most_ranks || core::trim(text).empty()) return;
  Last& last = last_[rank];
  last.shape = shape_of(text);
  last.text = std::string(core::trim(text).substr(0, 200));
  last.number = number;
  last.offset = offset;
  ++last.lines;
  const auto known = shapes_.find(last.shape);
  if (known != shapes_.end()) {
    ++known->second[rank];
  } else if (shapes_.size() < k_most_shapes) {
    shapes_[last.shape][rank] = 1;
  }
}

std::uint32_t RankLines::count_of(const std::string& shape, int rank) const {
  const auto known = shapes_.find(shape);
  if (known == shapes_.end()) return 0;
  const auto count = known->second.find(rank);
  return count == known->second.end() ? 0 : count->second;
}

void RankLines::finish(record::RunBuilder& build, record::SourceId source) const {
  if (last_.size() < 2) return;
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
    event.caught["evaluates"] = says(last.text, {"eval", "valid", "test"});
    event.origin = {source, last.number, last.offset};
    build.event(std::move(event));
    return;
  }
}

}  // namespace aplomb::log_text
