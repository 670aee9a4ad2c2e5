#pragma once
/// ScoreCourse: what a score of the program's own did over the training: `exact_match`, `win rate`,
/// `perplexity`. Losses and rewards are no scores here: they have detectors of their own.

#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::record {

/// A name of what is measured of a model's answers.
struct ScoreName {
  std::string_view word;  ///< in lower case: `exact match`, `f1`
  bool more_is_better;
};

/// The name that stands first in `text` (in lower case) as words of their own, of several there the
/// longest; `at` is its place.
struct FoundScore {
  const ScoreName* name = nullptr;
  std::size_t at = 0;
};
FoundScore first_score_name(std::string_view text);

struct ScoreCourse {
  bool more_is_better = true;
  bool share = true;  ///< of 1: a fraction, a percentage, a count of a total
  bool ends = false;  ///< the last value is that of the end of training
  double first = 0;
  double best = 0;
  double last = 0;
  std::uint64_t count = 0;

  void add(double value);
  /// The kind of event that the course makes; null where it makes none.
  ///   score-none     0 whenever it was measured
  ///   score-worse    ends worse than it began
  ///   score-unmoved  ends where it began, far from its best
  const char* judged() const;
};

}  // namespace aplomb::record
