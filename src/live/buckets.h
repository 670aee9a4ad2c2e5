#pragma once
/// A series thinned for a screen: of each bucket of steps its smallest and its largest sample, so
/// that no spike is lost whatever the width.

#include <cstdint>
#include <optional>
#include <vector>

#include "record/series.h"

namespace aplomb::live {

struct Buckets {
  std::vector<std::int64_t> steps;  ///< of the first sample of each bucket
  /// Of the finite samples; a bucket that holds none has its first non-finite one in both. One with
  /// a non-finite sample among finite ones shows the non-finite one as its `max`.
  std::vector<double> min;
  std::vector<double> max;
  bool exact = true;  ///< each bucket is one sample, and none of the run's own was thinned away
};

/// A sample that came after the others.
struct Later {
  std::int64_t step = 0;
  double value = 0;
};

/// Samples from step `from` to `to` (both counted), in the order of the series, in at most `most`
/// buckets of equally many steps; `later` are laid behind those of the series. Where the series goes back (a restart) a bucket ends. Cost: one
/// pass.
Buckets buckets_of(const record::Series& series, const std::vector<Later>& later,
                   std::optional<std::int64_t> from, std::optional<std::int64_t> to,
                   std::size_t most);

}  // namespace aplomb::live
