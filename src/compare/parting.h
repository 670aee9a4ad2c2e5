#pragma once
/// Parting: where two curves stop being the same: to the last bit, to the digits written, and
/// beyond what their noise explains.

#include <optional>
#include <vector>

#include "compare/curve.h"

namespace aplomb::compare {

/// How far from the start two curves are equal. Indices into the pairs; the size where all are.
struct Likeness {
  std::size_t bits = 0;    ///< the first pair that differs in any bit (two NaN are equal)
  std::size_t digits = 0;  ///< the first that differs by more than both were rounded to
};
Likeness likeness_of(const Pairs& pairs);

/// The first pair of which one value is finite and the other is not.
std::optional<std::size_t> first_broken(const Pairs& pairs);

/// The pair at which a lasting difference begins; nothing where there is none, or where the pairs
/// are too few (16) to know their noise. Only pairs with two finite values count.
///
/// Rule: Page's two-sided cumulative sum (Biometrika 41, 1954) of the difference in units of its
/// own noise, with reference value 1/2 (made for shifts of one sigma) and each term clipped at 4,
/// so that single spikes do not sum up to an alarm. The threshold is set by Siegmund's formula for
/// the run length (Sequential Analysis, 1985) so that equal curves of this length raise an alarm
/// with probability k_false_alarm. The difference begins where the sum last was 0.
std::optional<std::size_t> parting_of(const Pairs& pairs);

/// The same with other seeds of A at hand: the pair from which B stays outside the band that a
/// further seed of A would lie in (Student's prediction interval over the seeds at each place,
/// all curves smoothed over 9 samples) for 8 samples in a row. `seeds`: each like `pairs.a`; NaN
/// where a seed has nothing. This band knows what noise inside one run cannot show: how far whole
/// runs wander from each other.
std::optional<std::size_t> parting_from_seeds(const Pairs& pairs,
                                              const std::vector<std::vector<double>>& seeds);

/// How often two equal curves may be said to part.
constexpr double k_false_alarm = 0.01;

}  // namespace aplomb::compare
