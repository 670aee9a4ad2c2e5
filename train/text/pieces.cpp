#include "train/text/pieces.h"

#include <algorithm>

namespace aplomb::train::text {

namespace {

/// Joins each match that follows an unmatched range to that range: in the order of the text this is
/// merged_with_previous, backwards merged_with_next.
template <class Join>
void merge_matches(const std::vector<Cut>& cuts, std::vector<Cut>& out, Join join) {
  bool previous = false;
  for (const Cut& cut : cuts) {
    if (cut.match && !previous && !out.empty()) {
      join(out.back(), cut);
    } else {
      out.push_back(cut);
    }
    previous = cut.match;
  }
}

void merge_runs(std::vector<Cut>& cuts) {
  std::vector<Cut> out;
  bool previous = false;
  for (const Cut& cut : cuts) {
    if (cut.match == previous && !out.empty()) {
      out.back().end = cut.end;
    } else {
      out.push_back(cut);
    }
    previous = cut.match;
  }
  cuts = std::move(out);
}

void merge(std::vector<Cut>& cuts, Behaviour behaviour) {
  std::vector<Cut> out;
  switch (behaviour) {
    case Behaviour::removed:
    case Behaviour::isolated:
      return;
    case Behaviour::contiguous:
      merge_runs(cuts);
      return;
    case Behaviour::merged_with_previous:
      merge_matches(cuts, out, [](Cut& before, const Cut& match) { before.end = match.end; });
      break;
    case Behaviour::merged_with_next:
      std::reverse(cuts.begin(), cuts.end());
      merge_matches(cuts, out, [](Cut& after, const Cut& match) { after.begin = match.begin; });
      std::reverse(out.begin(), out.end());
      break;
  }
  cuts = std::move(out);
}

}  // namespace

std::optional<Behaviour> behaviour_named(std::string_view name) {
  if (name == "Removed") return Behaviour::removed;
  if (name == "Isolated") return Behaviour::isolated;
  if (name == "MergedWithPrevious") return Behaviour::merged_with_previous;
  if (name == "MergedWithNext") return Behaviour::merged_with_next;
  if (name == "Contiguous") return Behaviour::contiguous;
  return std::nullopt;
}

void split_piece(const Piece& piece, std::vector<Cut>& cuts, Behaviour behaviour,
                 std::vector<Piece>& out) {
  merge(cuts, behaviour);
  for (const Cut& cut : cuts) {
    if (cut.begin == cut.end || (cut.match && behaviour == Behaviour::removed)) continue;
    out.push_back({.begin = cut.begin,
                   .end = cut.end,
                   .at_start = piece.at_start && cut.begin == piece.begin});
  }
}

}  // namespace aplomb::train::text
