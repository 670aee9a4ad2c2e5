#pragma once
/// Pieces: a text cut into consecutive ranges, and the ways in which tokenizer.json lets a pattern
/// cut them finer.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::train::text {

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool at_start = false;  ///< begins where the user's text begins
};

struct Pieces {
  std::string text;
  std::vector<Piece> list;  ///< none is empty

  std::string_view of(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

/// What becomes of the matches of a pattern.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };
std::optional<Behaviour> behaviour_named(std::string_view name);

/// A range of one piece, and whether the pattern matched it. Ranges cover the piece in order.
struct Cut {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool match = false;
};

/// Appends to `out` what `cuts` of `piece` become. `cuts` is used up.
void split_piece(const Piece& piece, std::vector<Cut>& cuts, Behaviour behaviour,
                 std::vector<Piece>& out);

}  // namespace aplomb::train::text
