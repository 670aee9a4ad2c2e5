#pragma once
/// Trend: whether a metric got better over a run by more than its noise from record to record.
///
///     const auto trend = trend_of(values, Better::lower);   // a loss
///     if (trend && trend->better) ...                       // it learns
///
/// Noise is the spread of a record about its two neighbours (1.4826 median |second difference| /
/// sqrt(6)), so that a steady fall is no noise. A level at the start and one at the end are
/// compared; the difference counts when it is k_sigmas of its standard error and k_least_gain of the
/// level. With few records the order of them has to agree as well (Mann and Kendall's test, one-
/// sided at 5 %: four records in a row that all fall, not three).
///
/// Costs O(n); long series are judged by the medians of 64 blocks.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace aplomb::diagnosis {

enum class Better : std::uint8_t { lower, higher };

struct Trend {
  std::size_t records = 0;  ///< finite ones
  double start = 0;         ///< level of the first tenth (of the first record, below 20)
  double last = 0;          ///< level of the last fifth
  double best = 0;
  double gain = 0;       ///< from start to last, above 0 where it got better
  double gain_frac = 0;  ///< from the first record to `last`, of the first
  double noise = 0;      ///< sigma of one record (or block)
  double sigmas = 0;     ///< gain over its standard error
  bool better = false;
  bool worse = false;
  bool turned = false;   ///< it was better than it is at the end, beyond the noise
  bool settled = false;  ///< what was gained was gained in the first quarter, and no more since
};

/// Standard errors: one in a hundred series without a trend would pass 2.6; two ends are compared,
/// and both ways of looking at them are tried.
inline constexpr double k_sigmas = 4;
/// Of the start level: the success criterion of the bf16 stability checklist (a loss that falls by
/// 1 %).
inline constexpr double k_least_gain = 0.01;
/// Records below which nothing is judged.
inline constexpr std::size_t k_least_records = 4;

/// Nothing below k_least_records finite values.
std::optional<Trend> trend_of(const std::vector<double>& values, Better better);

}  // namespace aplomb::diagnosis
