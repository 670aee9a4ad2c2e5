#pragma once
/// StepCount: the steps that a trainer says it has lost (skipped, or without a finite loss), whether it
/// counts on or anew with each record.
///
///     count.add(sample_of(frame, reading), is_of_interval(series_name(context, reading, "")));
///     if (count.records() >= 2 && count.share() > 0.05) ...
///
/// O(1) memory (detectors/kept.h). Not for several threads.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {

/// Megatron-LM's counts are of the records' interval, whatever they show.
inline bool is_of_interval(std::string_view series) {
  return series.find("in_interval") != std::string_view::npos;
}

class StepCount {
 public:
  /// `of_interval`: known to begin anew. Else a count that goes back to 0 is taken for one (those of
  /// two engines in one log fall too, but not to 0).
  void add(const detectors::Sample& sample, bool of_interval) {
    if (records_++ == 0) first_ = sample;
    if (of_interval || (sample.value == 0 && last_.value > 0)) per_interval_ = true;
    if (sample.value > 0 && first_lost_.value == 0) first_lost_ = sample;
    most_ = std::max(most_, sample.value);
    summed_ += sample.value;
    counts_.add(sample);
    last_ = sample;
  }

  std::uint64_t records() const { return records_; }
  const detectors::Sample& first() const { return first_; }
  const detectors::Sample& last() const { return last_; }
  /// The first record with any; its value is 0 where there is none.
  const detectors::Sample& first_lost() const { return first_lost_; }
  double lost() const { return per_interval_ ? summed_ : most_; }
  double steps() const {
    return static_cast<double>(std::max<std::int64_t>(last_.step - first_.step, 1));
  }

  /// Of all lost ones: 0.5 where they come evenly.
  double share_of_later_half() const {
    double before = 0;
    const std::int64_t middle = (first_.step + last_.step) / 2;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const detectors::Sample& each = counts_[i];
      if (each.step > middle) break;
      before = per_interval_ ? before + each.value : std::max(before, each.value);
    }
    if (per_interval_)
      before *= static_cast<double>(counts_.count()) / static_cast<double>(counts_.size());
    return lost() > 0 ? 1 - std::min(1.0, before / lost()) : 0;
  }

 private:
  std::uint64_t records_ = 0;
  detectors::Kept counts_;
  double summed_ = 0;
  double most_ = 0;
  bool per_interval_ = false;
  detectors::Sample first_;
  detectors::Sample first_lost_;
  detectors::Sample last_;
};

}  // namespace aplomb::gradient_detectors
