#pragma once
/// What a run's curve does beside its trend: how large, how like its neighbours.

#include <vector>

namespace aplomb::compare {

/// Median over up to 2 * half + 1 neighbours, fewer at the ends (always as many before as after).
/// Finite input.
std::vector<double> running_median(const std::vector<double>& values, std::size_t half);

struct Noise {
  /// Sigma of Gaussian noise with the residuals' median absolute deviation, around each sample.
  /// Larger where the noise grows nearby.
  std::vector<double> sigma;
  /// Correlation of neighbouring residuals, 0 (none, or less) to 0.9.
  double correlation = 0;
  /// By how much the spread of a mean exceeds that of as many independent samples:
  /// sqrt((1 + r) / (1 - r)), exact for first-order autoregressive noise.
  double inflation() const;
  /// Degrees of freedom of a sigma: of the 65 residuals (or as many as there are) so many as count
  /// for a variance when neighbours correlate, (1 - r^2) / (1 + r^2) of them; at least 2.
  double freedom() const;
};

/// The residuals are what a running median over 33 samples leaves. Finite input. All sigmas are 0
/// for fewer than 5 samples.
Noise noise_of(const std::vector<double>& values);

/// Half a unit of the last digit that these values were written with (4 significant digits, 3
/// decimals...), for each of them; 1.3e-6 of it (the relative tolerance of
/// torch.testing.assert_close for float32) where they were written in full. Two runs that differ by
/// no more than the sum of their roundings may be equal.
std::vector<double> rounding_of(const std::vector<double>& values);

}  // namespace aplomb::compare
