#pragma once
/// From a line of prose to Claims: who (subject) does what (predicate), from and to which value,
/// when, and under which conditions. A small window grammar over the lexicon's concepts, not a
/// full parser of English: nearest subject in the clause, before the predicate or right behind it; the
/// subject of the clause before where there is none ("the loss falls, then rises"); negation
/// between the two; numbers behind the predicate. Subject and predicate may stand in either order.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prose/claim_lexicon.h"

namespace aplomb::prose {

struct Claim {
  std::string subject;    ///< id of the lexicon
  std::string predicate;  ///< id; empty: the subject has this value, no more is said
  std::optional<double> value, from, to;
  std::string unit;  ///< of the value (or of `to`)
  std::optional<double> step, epoch;
  std::vector<std::string> conditions;
  std::vector<std::string> without;      ///< conditions that are said to be off
  std::string judges;                    ///< good | bad | empty
  std::size_t sentence = 0, clause = 0;  ///< of the line
};

/// Reads the lines of one text in order; keeps the subject that was spoken of last.
class ClaimParser {
 public:
  static constexpr std::size_t k_most_tokens = 400;  ///< of a line; what follows is not read

  explicit ClaimParser(const Lexicon& lexicon) : lexicon_(lexicon) {}

  std::vector<Claim> line(std::string_view text);

  /// Topics of the last line, and the conditions that it named, of a claim or not.
  const std::vector<std::string>& mentioned() const { return mentioned_; }

 private:
  const Lexicon& lexicon_;
  std::vector<std::string> mentioned_;
  std::string spoken_of_;  ///< last subject, for `it goes up again`
};

}  // namespace aplomb::prose
