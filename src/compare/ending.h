#pragma once
/// Ending: how far two curves are apart at the end, and whether that is more than noise.

#include <vector>

#include "compare/curve.h"

namespace aplomb::compare {

/// What the noise of an Ending was estimated from.
enum class Basis {
  none,    ///< too few values: nothing can be said
  within,  ///< the scatter inside the two runs: knows no other seeds
  seeds,   ///< final values of further runs
};

/// Chances of a false "differs" that are accepted, over all outcome metrics together. Inside one
/// run there are many samples but not all of the noise, so that the stricter of the two usual
/// levels is asked for; with seeds few values but the right ones.
constexpr double k_level_within = 0.01;
constexpr double k_level_seeds = 0.05;

struct Ending {
  std::size_t samples = 0;  ///< pairs averaged: the last tenth, at least 8, at most half
  double a = 0;             ///< means over them; NaN where most are not finite
  double b = 0;
  Basis basis = Basis::none;
  double noise = 0;    ///< standard error of b - a under that basis
  double freedom = 0;  ///< degrees of freedom of Student's t
  double p = 1;        ///< chance of so large a difference without any cause
  double difference() const { return b - a; }
  /// `shares`: how many metrics share the accepted level (Bonferroni).
  bool beyond_noise(std::size_t shares) const;
};

/// What the samples of a metric are measured on.
enum class Measured {
  on_batches,   ///< new data each time: the noise of a mean falls with the samples
  on_held_out,  ///< the same data each time: what varies is the run's own wandering, and no number
                ///< of samples averages that out
};

/// Without seeds: Student's t on the paired differences of the last samples, their correlation
/// allowed for. With `seeds` (each like `pairs.a`; NaN where one has nothing): whether B's final
/// value is one that a further seed of A would have (t of the prediction interval over A and the
/// seeds, whose noise is never taken to be less than that within the runs).
Ending ending_of(const Pairs& pairs, const std::vector<std::vector<double>>& seeds,
                 Measured measured = Measured::on_batches);

}  // namespace aplomb::compare
