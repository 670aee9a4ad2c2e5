#pragma once
/// Ending: how far two curves are apart at the end, and whether that is more than noise.

#include <vector>

#include "compare/curve.h"

namespace aplomb::compare {

/// What the noise of an Ending was estimated from.
enum class Basis {
  none,    ///< too few values: nothing can be said
  within,  ///< the scatter inside the two runs: knows no other seeds
  seeds,   ///< final values of further runs of A
  groups,  ///< final values of several runs of B, and of A where there are further ones
};

/// Chances of a false "differs" that are accepted, over all outcome metrics together. Inside one
/// run there are many samples but not all of the noise, so that the stricter of the two usual
/// levels is asked for; with seeds few values but the right ones.
constexpr double k_level_within = 0.01;
constexpr double k_level_seeds = 0.05;

struct Ending {
  std::size_t samples = 0;  ///< pairs averaged: the last tenth, at least 8, at most half
  double a = 0;             ///< means over them; NaN where most are not finite. With several runs
                            ///< of B (Basis::groups) the means over the runs of each side
  double b = 0;
  std::size_t runs_a = 1;  ///< whose final values are known
  std::size_t runs_b = 1;
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

/// The values of further runs at the places of the pairs; NaN where one has nothing.
struct Further {
  std::vector<std::vector<double>> a;
  std::vector<std::vector<double>> b;
};

/// Without further runs: Student's t on the paired differences of the last samples, their
/// correlation allowed for. With further runs of A: whether B's final value is one that a further
/// seed of A would have (t of the prediction interval over A's runs). With further runs of B:
/// Welch's t on the final values of both sides (Biometrika 34, 1947), or, where A has one run only,
/// whether it is one that a further seed of B would have. The noise of a run is never taken to be
/// less than that within the runs.
Ending ending_of(const Pairs& pairs, const Further& further,
                 Measured measured = Measured::on_batches);

}  // namespace aplomb::compare
